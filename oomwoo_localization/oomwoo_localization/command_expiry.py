"""When a base that keeps its last command for ever has to be told to stop."""


class CommandExpiry:
    """
    Tells when the last command is too old to be driven on.

    It asks for the stop again for as long as it waited for a command, in case one is lost, and
    then not before another command has come.
    """

    def __init__(self, timeout_s):
        """Let a command count for ``timeout_s`` seconds."""
        self.timeout_s = timeout_s
        self.forget()

    def forget(self):
        """Forget the last command: there is nothing to stop."""
        self._heard_s = None

    def heard(self, now_s):
        """Take note of a command."""
        self._heard_s = now_s

    def expired(self, now_s):
        """Tell whether the base has to be stopped at ``now_s``."""
        if self._heard_s is None:
            return False
        age_s = now_s - self._heard_s
        if age_s > 2.0 * self.timeout_s:
            self.forget()
        return age_s > self.timeout_s
