"""The tools keep to the style that they check."""

from pathlib import Path
import shutil
import subprocess
import sys

import pytest

TOOLS = Path(__file__).resolve().parent.parent


def test_tools_are_clean():
    result = subprocess.run([sys.executable, TOOLS / 'lint.py', 'tools', 'conftest.py'],
                            capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.skipif(not shutil.which('shellcheck'), reason='no shellcheck here')
def test_shell_scripts_are_clean():
    scripts = ['env.sh', 'tools/run', 'tools/bare_ros/setup.sh', '.ci/run']
    result = subprocess.run(['shellcheck', *scripts], cwd=TOOLS.parent, capture_output=True,
                            text=True)
    assert result.returncode == 0, result.stdout
