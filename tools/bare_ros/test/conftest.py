"""Small stand-ins for what a set-up downloads, so that its faults can be tested in seconds."""

import hashlib
import os
from pathlib import Path
import subprocess
import sys
import zipfile

import pytest

BARE_ROS = Path(__file__).resolve().parent.parent
CHECKOUT = BARE_ROS.parent.parent
BASE_PYTHON = os.path.join(sys.base_prefix, 'bin', 'python3.12')

sys.path.insert(0, str(BARE_ROS))

RUNTIME = 'isaacsim/exts/isaacsim.ros2.core/jazzy'
PACKAGES = {
    # What the set-up's own check imports.
    'bare': {'mujoco.py': '', 'mcap.py': '', 'scipy.py': '', 'yaml.py': '',
             'colcon_core/command.py': 'def main():\n    print("colcon")\n'},
    'runtime': {f'{RUNTIME}/rclpy/{name}': text for name, text in {
        'rclpy.py': '', 'launch_ros.py': '', 'tf2_ros.py': '',
        'nav2_msgs/action.py': '', 'sensor_msgs/msg.py': '',
        'ros2cli_fake.py': 'def main():\n    print("ros2 runs")\n',
        'ros2cli-1.egg-info/entry_points.txt': '[console_scripts]\nros2 = ros2cli_fake:main\n',
    }.items()},
}
PACKAGES['overlay'] = PACKAGES['bare']


def write_wheel(folder, name, files):
    """Write a wheel that holds ``files``; return its path."""
    path = folder / f'{name}-1.0-py3-none-any.whl'
    info = f'{name}-1.0.dist-info'
    with zipfile.ZipFile(path, 'w') as wheel:
        for target, text in files.items():
            wheel.writestr(target, text)
        wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n')
        wheel.writestr(f'{info}/WHEEL',
                       'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n')
        wheel.writestr(f'{info}/RECORD', '')
    return path


class World:
    """A place with packages of its own, a cache and a checkout; each path has a space in it."""

    def __init__(self, folder):
        self.wheels = folder / 'the wheels'
        self.requirements = folder / 'the locks'
        self.cache = folder / 'a cache'
        self.checkout = folder / 'a checkout'
        for path in (self.wheels, self.requirements, self.checkout):
            path.mkdir(parents=True)
        for lock, files in PACKAGES.items():
            wheel = write_wheel(self.wheels, f'oomwoo_fake_{lock}', files)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            (self.requirements / f'{lock}.lock').write_text(
                f'oomwoo-fake-{lock}==1.0 --hash=sha256:{digest}\n')
        for lock in ('installer', 'sdist'):
            (self.requirements / f'{lock}.lock').write_text('')
        self.environment = {
            **{key: value for key, value in os.environ.items()
               if not key.startswith(('PIP_', 'UV_', 'OOMWOO_', 'PYTHON'))},
            'OOMWOO_CACHE': str(self.cache), 'OOMWOO_INSTALLER': 'pip',
            'OOMWOO_PYTHON': BASE_PYTHON, 'OOMWOO_ROS_ROOT': str(folder / 'no ros'),
            'OOMWOO_MIN_FREE_MB': '1', 'PIP_CONFIG_FILE': os.devnull, 'PIP_NO_INDEX': '1',
            # pip splits what the variable holds at spaces.
            'PIP_FIND_LINKS': self.wheels.as_uri(), 'PIP_RETRIES': '0',
            'PATH': '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
        }

    def start(self, **environment):
        """Start a set-up; ``None`` unsets a variable."""
        merged = {**self.environment, **environment}
        return subprocess.Popen(
            [BARE_ROS / 'setup.sh', '--checkout', self.checkout,
             '--requirements', self.requirements],
            env={key: value for key, value in merged.items() if value is not None},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True)

    def set_up(self, **environment):
        """Run a set-up; return its exit status and output."""
        process = self.start(**environment)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def prefix(self):
        """Return where the checkout's link leads."""
        return Path(os.readlink(self.checkout / '.prefix'))


@pytest.fixture
def world(tmp_path):
    """Give a world in which nothing was set up yet."""
    return World(tmp_path)
