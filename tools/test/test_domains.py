"""Tests that run side by side do not hear each other."""

import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parents[2]


def test_each_pytest_process_has_a_domain_of_its_own(tmp_path):
    test = tmp_path / 'test_nothing.py'
    test.write_text('import os\n\n\ndef test_it(capsys):\n    with capsys.disabled():\n'
                    '        print("DOMAIN", os.environ["ROS_DOMAIN_ID"], flush=True)\n'
                    '        input()\n')
    command = [sys.executable, '-m', 'pytest', '-s', '-q', '-p', 'no:cacheprovider',
               f'--rootdir={ROOT}', '-p', 'conftest', test]
    processes = [subprocess.Popen(
        command, cwd=tmp_path, env={**os.environ, 'PYTHONPATH': f'{ROOT}:' + os.environ.get(
            'PYTHONPATH', '')}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)]
    domains = [os.environ['ROS_DOMAIN_ID']]
    for process in processes:
        for line in process.stdout:
            if 'DOMAIN' in line:
                domains.append(line.split()[-1])
                break
    for process in processes:
        process.communicate('\n')
        assert process.returncode == 0
    assert len(set(domains)) == 4
    assert all(20 <= int(domain) < 102 for domain in domains)
