"""Gazebo's own conversion of a URDF, in a process of its own, since it prints and may abort."""
import ctypes.util
import os
from pathlib import Path
import re
import subprocess
import sys
from xml.etree import ElementTree

_CODE = """
import ctypes, sys
library, path = ctypes.CDLL(sys.argv[1]), sys.argv[2].encode()
print('<!-- printed -->', flush=True)
printed = library.cmdPrint(path, 0, 0, ctypes.c_float(0.01), 0, 9, 0)
print('<!-- statistics -->', flush=True)
sys.exit(printed or library.cmdInertialStats(path))
"""


def library():
    """Return the path of Gazebo Harmonic's SDF library, or None."""
    for folder in os.environ.get('LD_LIBRARY_PATH', '').split(':'):
        found = Path(folder) / 'libsdformat14.so'
        if folder and found.is_file():
            return str(found)
    return ctypes.util.find_library('sdformat14')


class Converted:
    """A URDF's ``model`` in SDF, what the parser ``said``, and the whole robot's inertia."""

    def __init__(self, urdf, folder):
        """Convert the text of a URDF, by way of a file in ``folder``."""
        file = Path(folder) / 'robot.urdf'
        file.write_text(urdf, encoding='utf-8')
        ended = subprocess.run(
            [sys.executable, '-u', '-c', _CODE, library(), str(file)],     # C's stdout, too
            capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        sdf, statistics = re.split('<!-- (?:printed|statistics) -->', ended.stdout)[1:]
        self.said = ended.stderr
        self.model = ElementTree.fromstring(sdf.strip()).find('model')
        numbers = [float(word) for word in re.findall(r'-?\d[\d.e+-]*', statistics)]
        self.mass, self.center_of_mass = numbers[0], numbers[1:4]
        self.inertia = [numbers[4:7], numbers[7:10], numbers[10:13]]

    def link(self, name):
        """Return a link element by name."""
        return next(link for link in self.model.findall('link') if link.get('name') == name)


def pose_of(element):
    """Return an element's own pose, six numbers; zeros without one."""
    return [float(word) for word in (element.findtext('pose') or '0 0 0 0 0 0').split()]
