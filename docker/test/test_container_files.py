"""Dockerfile, compose.yaml and the workflow, as far as they can be checked without Docker."""
import ast
from pathlib import Path
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / 'docker'
INSIDE = '/ros_ws/src/'                 # where the checkout is in the container
PACKAGES = sorted(path.parent.name for path in ROOT.glob('oomwoo_*/package.xml'))
SCRIPTS = sorted(DOCKER.glob('*.sh'))
# apt's ROS 2 was compiled with NumPy 1, and SciPy goes with it.
HELD_BACK = {'numpy', 'scipy'}
# Modules by the rosdep key that brings them, where that is not called the same.
KEYS = {
    'PIL': 'python3-pil', 'contourpy': 'python3-matplotlib', 'hypothesis': 'python3-hypothesis',
    'matplotlib': 'python3-matplotlib', 'numpy': 'python3-numpy', 'pytest': 'python3-pytest',
    'scipy': 'python3-scipy', 'serial': 'python3-serial', 'websockets': 'python3-websockets',
    'yaml': 'python3-yaml'}
# And by the name in the locks, for those that apt does not have.
LOCKED = {
    'dartpy': 'dartpy', 'foxglove': 'foxglove-sdk', 'lds2d': 'lds2d', 'mcap': 'mcap',
    'mcap_ros2': 'mcap-ros2-support', 'mujoco': 'mujoco'}


def instructions():
    """Return (word, rest) of every instruction of the Dockerfile, continued lines joined."""
    text = (DOCKER / 'Dockerfile').read_text(encoding='utf-8')
    text = re.sub(r'^#.*\n', '', text, flags=re.MULTILINE).replace('\\\n', ' ')
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def compose():
    """Return compose.yaml with its merges resolved."""
    return yaml.safe_load((DOCKER / 'compose.yaml').read_text(encoding='utf-8'))


def keys():
    """Return every key of every package.xml with the packages that have it."""
    found = {}
    for package in PACKAGES:
        for element in ElementTree.parse(ROOT / package / 'package.xml').getroot():
            if element.tag.endswith('depend'):
                found.setdefault(element.text.strip(), set()).add(package)
    return found


@pytest.mark.parametrize('script', SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_bash(script):
    subprocess.run(['bash', '-n', script], check=True)
    if shutil.which('shellcheck'):
        found = subprocess.run(
            ['shellcheck', '-x', script], capture_output=True, text=True, cwd=DOCKER)
        assert found.returncode == 0, found.stdout


def test_every_path_that_is_copied_is_there_and_every_package_is_installed_for():
    copied = []
    for word, rest in instructions():
        if word == 'COPY':
            words = [w for w in shlex.split(rest) if not w.startswith('--')]
            copied += words[:-1]
            for source in words[:-1]:
                assert (ROOT / source).exists(), source
    for package in PACKAGES:
        assert f'{package}/package.xml' in copied
    assert copied[-1] == '.'


def test_what_is_left_out_of_the_image_is_nothing_that_git_has():
    tracked = subprocess.run(
        ['git', 'ls-files'], cwd=ROOT, capture_output=True, text=True).stdout.split()
    lines = (ROOT / '.dockerignore').read_text(encoding='utf-8').splitlines()
    ignored = [line for line in lines if line and not line.startswith(('#', '!'))]
    kept = [line[1:] for line in lines if line.startswith('!')]
    for path in tracked:
        if any(path.startswith(folder) for folder in kept):
            continue
        parts = Path(path)
        for pattern in ignored:
            if pattern.startswith('**/'):
                assert not any(Path(p).match(pattern[3:]) for p in parts.parts), path
            else:
                assert not Path(parts.parts[0]).match(pattern), path


def test_each_stage_stands_on_one_before_and_all_on_ros_jazzy():
    stages = {}
    for word, rest in instructions():
        if word == 'FROM':
            base, _, name = rest.split()
            stages[name] = base
    assert stages == {'tools': 'ros:jazzy', 'dependencies': 'tools', 'dev': 'dependencies'}


def test_the_container_does_not_run_as_root_and_starts_what_is_there():
    words = dict(instructions())                # the last of each
    assert words['USER'] == 'oomwoo'
    # As the unit of the robot has it: at SIGTERM ros2 launch leaves orphans.
    assert words['STOPSIGNAL'] == 'SIGINT'
    for word in ('ENTRYPOINT', 'HEALTHCHECK'):
        script = re.search(rf'{INSIDE}([\w./]+)', words[word])[1]
        path = ROOT / script
        assert path.is_file() and path.stat().st_mode & 0o111, script
    shell = re.search(rf'{INSIDE}(docker/\w+\.sh)', ' '.join(r for _, r in instructions()))[1]
    assert (ROOT / shell).is_file()


def test_ros_of_the_base_image_is_as_new_as_what_is_installed_upon_it():
    """Packages of ROS depend on each other without versions: an old rclcpp would be left."""
    run, = (rest for word, rest in instructions() if word == 'RUN' and 'rosdep install' in rest)
    steps = [step.split() for step in run.split('&&')]
    order = [step[:2] for step in steps]
    assert order.index(['apt-get', 'update']) < order.index(['apt-get', 'upgrade']) < order.index(
        ['rosdep', 'install'])
    # In a build nobody answers.
    for step in steps:
        if step[0] in ('apt-get', 'rosdep') and step[1] != 'update':
            assert {'--yes', '--default-yes'} & set(step)


def test_python_packages_come_from_the_locks_and_nowhere_else():
    """So pins are the same in the container, on a bare machine and on the robot."""
    runs = ' '.join(rest for word, rest in instructions() if word == 'RUN')
    assert 'tools/bare_ros/setup.sh' in runs and 'tools/run python tools/build.py' in runs
    assert not re.search(r'\bpip3? install|\buv pip|easy_install', runs)
    locks = ROOT / 'tools' / 'bare_ros' / 'requirements'
    pins = {}
    for name in ('bare', 'overlay'):
        text = (locks / f'{name}.lock').read_text(encoding='utf-8')
        pins[name] = dict(re.findall(r'^([\w.-]+)==(\S+)', text, re.MULTILINE))
    wanted = (locks / 'python.in').read_text(encoding='utf-8')
    for line in wanted.splitlines():
        name = re.match(r'(?!-)[\w-]*', line)
        name = name and name[0]
        if name and name not in HELD_BACK:
            assert pins['overlay'][name] == pins['bare'][name], name


def test_rosdep_knows_every_key():
    """Against docker/test/rosdep_keys.yaml, which says when and where they were looked up."""
    listed = yaml.safe_load((DOCKER / 'test' / 'rosdep_keys.yaml').read_text(encoding='utf-8'))
    known = {*listed['released'], *listed['system'], *PACKAGES}
    unknown = {key: sorted(users) for key, users in keys().items() if key not in known}
    assert not unknown, 'look them up in rosdistro, and add them to docker/test/rosdep_keys.yaml'
    unused = known - set(keys()) - set(PACKAGES) - {'teleop_twist_keyboard'}
    assert not unused
    # pip packages of rosdep do not install on Ubuntu 24.04 (PEP 668): they are in the locks.
    assert not any('pip' in key for key in keys())


def imports(path):
    """Return the top names of the modules that a Python file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding='utf-8'))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split('.')[0])
    return found - set(sys.stdlib_module_names)


@pytest.mark.parametrize('package', PACKAGES)
def test_what_a_package_imports_is_installed_for_it(package):
    """What rosdep is not told of is there by chance: because another package needs it."""
    folder = ROOT / package
    lock = (ROOT / 'tools' / 'bare_ros' / 'requirements' / 'overlay.lock').read_text('utf-8')
    declared = {True: set(), False: set()}              # for tests as well, or for running
    for element in ElementTree.parse(folder / 'package.xml').getroot():
        if element.tag.endswith('depend'):
            declared[True].add(element.text.strip())
            if element.tag in ('depend', 'exec_depend'):
                declared[False].add(element.text.strip())
    own = {package, 'setuptools', *(path.stem for path in folder.glob('test/*.py'))}
    missing = {}
    for path in folder.rglob('*.py'):
        of_tests = path.is_relative_to(folder / 'test')
        for name in imports(path) - own:
            if name in LOCKED:
                assert f'\n{LOCKED[name]}==' in lock, name
            elif KEYS.get(name, name) not in declared[of_tests]:
                missing.setdefault(name, path.name)
    assert not missing


LOADS = """
import importlib.util, sys
for path in sys.argv[2:]:
    spec = importlib.util.spec_from_file_location('launch_file', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.generate_launch_description()
print(*sorted(set(sys.argv[1].split()) & {name.split('.')[0] for name in sys.modules}))
"""


def test_launch_files_need_no_python_package_that_apt_does_not_have():
    """The apt ros2 is run by the system's Python, which does not see the venv."""
    ended = subprocess.run(
        [sys.executable, '-c', LOADS, ' '.join(LOCKED), *ROOT.glob('oomwoo_*/launch/*.launch.py')],
        capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout.strip()) == (0, ''), ended.stderr


@pytest.mark.parametrize('service', ['sim', 'nav', 'foxglove'])
def test_services_run_what_exists_with_arguments_that_it_has(service):
    found = compose()['services'][service]
    words = found['command'].split()
    assert words[:2] == ['ros2', 'launch']
    path = ROOT / words[2] / 'launch' / words[3]
    known = {name for name, _, _ in runpy.run_path(str(path))['ARGUMENTS']}
    for word in words[4:]:
        name, value = word.split(':=')
        assert name in known, f'{path.name} has no {name}'
        assert value
    assert found['image'] == 'oomwoo:jazzy'
    # What becomes unhealthy once is not waited for any more.
    assert int(found['healthcheck']['start_period'].removesuffix('s')) >= 120
    test = found['healthcheck']['test']
    assert test[0] == 'CMD' and (ROOT / test[1].removeprefix(INSIDE)).is_file()
    health = (DOCKER / 'healthcheck.sh').read_text(encoding='utf-8')
    assert f'\n    {found["environment"]["OOMWOO_HEALTH"]})' in health


def test_one_service_builds_the_image_of_all():
    """Two that build one image at the same time end with "already exists"."""
    building = [s for s in compose()['services'].values() if 'build' in s]
    assert len(building) == 1 and building[0]['image'] == 'oomwoo:jazzy'
    build = building[0]['build']
    assert (DOCKER / build['context'] / build['dockerfile']).is_file()


def test_nothing_is_reachable_from_outside_this_machine():
    services = compose()['services']
    assert set(services) == {'net', 'sim', 'nav', 'foxglove'}
    ports = [port for s in services.values() for port in s.get('ports', [])]
    assert ports == services['net']['ports'] == ['127.0.0.1:${FOXGLOVE_PORT:-8765}:8765']
    assert not any(service.get('privileged') for service in services.values())


def test_who_holds_the_network_runs_nothing_that_could_end():
    """A network ends with its holder, and those who joined it stay behind in what is left."""
    services = compose()['services']
    net = services.pop('net')
    assert net['entrypoint'][-2:] == ['sleep', 'infinity'] and net['healthcheck']['disable']
    assert net['ipc'] == 'shareable' and 'network_mode' not in net
    for service in services.values():
        assert service['network_mode'] == service['ipc'] == 'service:net'
        assert service['depends_on']['net'] == {'condition': 'service_started'}
    assert services['nav']['depends_on']['sim'] == {'condition': 'service_healthy'}


def test_the_workflow_builds_both_architectures_and_tests_inside():
    file = ROOT / '.github' / 'workflows' / 'container.yml'
    flow = yaml.safe_load(file.read_text(encoding='utf-8'))
    assert set(flow[True]) == {'push', 'pull_request', 'workflow_dispatch'}      # YAML's "on"
    job, = flow['jobs'].values()
    included = job['strategy']['matrix']['include']
    assert {entry['platform'] for entry in included} == {'linux/amd64', 'linux/arm64'}
    assert all(('arm' in e['runner']) == ('arm64' in e['platform']) for e in included)
    assert job['timeout-minutes'] and flow['permissions'] == {'contents': 'read'}
    runs = []
    for step in job['steps']:
        assert ('uses' in step) != ('run' in step)
        if 'uses' in step:
            assert re.fullmatch(r'[\w-]+/[\w-]+@v\d+', step['uses'])
        else:
            runs.append(step['run'])
            subprocess.run(['bash', '-n', '-c', step['run']], check=True)
    image = compose()['services']['net']['image']
    build = next(s for s in job['steps'] if s.get('name') == 'build')
    assert build['run'] == f'docker build --file docker/Dockerfile --tag {image} .'
    assert build['env'] == {'DOCKER_DEFAULT_PLATFORM': '${{ matrix.platform }}'}
    commands = '\n'.join(runs)
    assert 'oomwoo:jazzy make test' in commands and '--shm-size 512m' in commands
    assert '--file docker/compose.yaml up' in commands


PUBLISHED = [
    'docker run -d --name oomwoo IMAGE sleep infinity', 'docker exec -it oomwoo bash',
    'docker run --name NAME -it --rm -v c:\\maps:/root/maps -p 8888:8888/udp -p 5555:5555/udp '
    '-e DISPLAY=host.docker.internal:0.0 -e LIBGL_ALWAYS_INDIRECT=0 '
    '--add-host=host.docker.internal:host-gateway IMAGE',
    'docker run --name NAME -it --rm -v ~/maps:/root/maps -p 8888:8888/udp -p 5555:5555/udp '
    '-e DISPLAY=$DISPLAY -v /tmp/.X11-unix:/tmp/.X11-unix --network host IMAGE']


@pytest.mark.parametrize('command', PUBLISHED, ids=range(len(PUBLISHED)))
def test_the_published_commands_are_in_the_readme_with_this_image(command):
    page = (DOCKER / 'README.md').read_text(encoding='utf-8').replace('\\\n', '')
    written = [re.sub(r'\s+', ' ', line) for line in page.splitlines()]
    wanted = command.replace('IMAGE', 'oomwoo:jazzy').replace('NAME', 'oomwoo')
    assert any(line.strip() == wanted or line.startswith(f'{wanted} #') for line in written)
    # Whose folder it is that they mount maps at.
    runs = ' '.join(rest for word, rest in instructions() if word == 'RUN')
    assert '/root/maps /home/oomwoo/maps' in runs
