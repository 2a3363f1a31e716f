"""How far a set-up is, and a part of it that goes on beside the others."""

import contextlib
import os
import threading
import time


class Steps:
    """Numbered steps with their seconds and megabytes; a heartbeat while one takes long."""

    def __init__(self, total):
        self.total = total
        self.number = 0
        self.started = time.monotonic()

    @contextlib.contextmanager
    def step(self, title, folder=None):
        """Report one step; ``folder`` is measured while it grows."""
        self.number += 1
        head = f'[{self.number}/{self.total}] {title}'
        print(f'{head} ...', flush=True)
        begin = time.monotonic()
        done = threading.Event()

        def beat():
            while not done.wait(5.0):
                print(f'{head} ... {self._figures(begin, folder)}', flush=True)

        threading.Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            done.set()
        print(f'{head}: {self._figures(begin, folder)}', flush=True)

    @staticmethod
    def _figures(begin, folder):
        text = f'{time.monotonic() - begin:.0f} s'
        return text + (f', {size_mb(folder)} MB' if folder else '')


def size_mb(folder):
    """Return the megabytes of the files below ``folder``, linked ones once."""
    seen = {}
    for root, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.lstat(os.path.join(root, name))
                seen[status.st_ino] = status.st_size
    return sum(seen.values()) // 2**20


class ParallelTask:
    """A function on a thread; ``result`` raises what it raised; the block waits for its end."""

    def __init__(self, function):
        self._function = function
        self._error = None
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        try:
            self._function()
        except BaseException as error:
            self._error = error

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._thread.join()

    def result(self):
        """Wait for the end."""
        self._thread.join()
        if self._error:
            raise self._error
