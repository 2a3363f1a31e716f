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
        """Forget the last command."""
        self._heard_s, self._moving = None, False

    def heard(self, linear, angular, now_s):
        """Take a command; one that is not finite counts as one that moves."""
        self._heard_s = now_s
        self._moving = not (linear == 0.0 and angular == 0.0)

    def expired(self, now_s):
        """Tell whether the base has to be stopped at ``now_s``."""
        if self._heard_s is None or not self._moving:
            return False
        age_s = now_s - self._heard_s
        if age_s > 2.0 * self.timeout_s:
            self.forget()
        return age_s > self.timeout_s
