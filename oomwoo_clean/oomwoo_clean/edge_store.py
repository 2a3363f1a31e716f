"""
A job on disk that survives: a snapshot written whole or not at all, and a journal of poses since.

The snapshot (``NAME.npz``) is flushed to the medium at every swept metre and every change of
state; the journal (``NAME.npz.journal``) gets a line for each pose, without waiting for the
medium. So a killed process loses nothing, and a power cut at most what was done since the last
snapshot.
"""
import fcntl
import json
import math
import os
from pathlib import Path
import zipfile

import numpy as np


class StoreError(ValueError):
    """A saved job that cannot be read; the message names the file."""


class JobStore:
    """Keeps one job at ``path``; ``every_m`` of newly swept edge make a snapshot."""

    def __init__(self, path, every_m=1.0):
        """Create the folder of ``path`` if need be; raises OSError when that is not possible."""
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.journal_path = self.path.with_name(self.path.name + '.journal')
        self._every_m = every_m
        self._journal = None
        self._lock = None
        self._number = 0
        self._swept_m = 0.0

    def claim(self):
        """Keep other processes out until this one ends; raises StoreError when one is there."""
        lock = self.path.with_name(self.path.name + '.lock').open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise StoreError(
                f'{self.path}: another edge manager keeps its job there; end that one, or give '
                'this one an output_dir of its own') from None
        except OSError:
            pass                           # a file system without locks keeps nobody out
        self._lock = lock

    def exists(self):
        """Tell whether a job is saved there."""
        return self.path.is_file()

    def load(self, run):
        """Restore the EdgeRun ``run``; raises StoreError (unreadable), ValueError (other map)."""
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                state = {name: archive[name] for name in archive.files}
            number = int(state['snapshot'])
        except (OSError, ValueError, KeyError, EOFError, TypeError, RuntimeError,
                zipfile.BadZipFile) as error:      # zipfile has two more for a header it reads
            raise StoreError(f'{self.path}: is no saved job ({error})') from error
        try:
            run.restore(state)
        except KeyError as error:
            raise StoreError(f'{self.path}: field {error} is missing') from error
        except (TypeError, IndexError) as error:
            raise StoreError(f'{self.path}: is no saved job ({error})') from error
        self._number = number
        for entry in self._read_journal(number):
            run.replay(*entry)

    def note(self, run, pose):
        """Keep what one tick did: a journal line, and a snapshot at every swept metre."""
        swept_m = run.sweep.swept_m
        if self._journal is None or swept_m - self._swept_m >= self._every_m:
            self.snapshot(run)
            return
        line = [*map(float, pose), int(run.driving), run.odometer_m, run.elapsed_s]
        self._journal.write(json.dumps(line) + '\n')
        self._journal.flush()

    def snapshot(self, run):
        """Write the whole state, flushed to the medium, and begin a new journal."""
        self._number += 1
        draft = self.path.with_name(self.path.name + '.part')
        with draft.open('wb') as stream:
            np.savez(stream, snapshot=np.array(self._number), **run.state())
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, self.path)
        _sync_folder(self.path.parent)
        self.close()
        self._journal = self.journal_path.open('w', encoding='ascii')
        self._journal.write(f'{self._number}\n')
        self._journal.flush()
        self._swept_m = run.sweep.swept_m

    def close(self):
        """Close the journal; what :meth:`claim` holds, it holds to the end of the process."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def remove(self):
        """Forget the saved job."""
        self.close()
        for path in (self.path, self.journal_path):
            path.unlink(missing_ok=True)

    def _read_journal(self, number):
        """Return the whole lines (pose, driving, odometer, elapsed) since snapshot ``number``."""
        try:
            text = self.journal_path.read_text(encoding='ascii', errors='replace')
            lines = text.split('\n')[:-1]
        except OSError:
            return []
        if not lines or lines[0] != str(number):
            return []
        entries = []
        for line in lines[1:]:
            try:
                x, y, yaw, driving, odometer_m, elapsed_s = json.loads(line)
                numbers = [x, y, yaw, elapsed_s, 0.0 if odometer_m is None else odometer_m]
                if not all(map(math.isfinite, numbers)):
                    break
            except (ValueError, TypeError):
                break
            entries.append(((x, y, yaw), bool(driving), odometer_m, elapsed_s))
        return entries


def _sync_folder(folder):
    """Make a rename in ``folder`` last through a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
