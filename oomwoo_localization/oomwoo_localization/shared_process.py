"""What several nodes in one process share: each message is taken in once for all of them."""
from functools import partial


class SharedProcess:
    """What the nodes of one process have in common: topics and transforms are heard once."""

    here = None               # that of this process, while several nodes run in it

    def __init__(self):
        """Nothing is heard yet."""
        self.frames = {}      # tf topic: (buffer, listener)
        self._topics = {}     # (topic, type, raw): [(QoS, callbacks)]

    def subscribe(self, what, qos, subscribe, callback):
        """
        Return the :class:`Share` of ``callback`` in one subscription for each topic and QoS.

        ``what`` is the tuple (full name of the topic, message type, whether it is kept raw);
        ``subscribe(on_message)`` creates the subscription, for the first who asks.
        """
        heard = self._topics.setdefault(what, [])
        callbacks = next((found for known, found in heard if known == qos), None)
        if callbacks is None:
            callbacks = []
            subscribe(partial(_tell_all, callbacks))
            heard.append((qos, callbacks))
        callbacks.append(callback)
        return Share(callbacks, callback)


def _tell_all(callbacks, msg):
    for callback in tuple(callbacks):           # one may end its share
        callback(msg)


class Share:
    """The part that one node has in a subscription of several."""

    def __init__(self, callbacks, callback):
        """Take the list of all and the one that it is about."""
        self._callbacks, self._callback = callbacks, callback

    def end(self):
        """Take the callback out; returns whether it was in."""
        if self._callback not in self._callbacks:
            return False
        self._callbacks.remove(self._callback)
        return True
