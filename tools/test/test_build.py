"""What counts as a change that needs a build."""

import build
import pytest


@pytest.fixture
def package(tmp_path):
    """Give a folder that looks like a package."""
    for name in ('package.xml', 'setup.py', 'config/robot.yaml', 'a_package/node.py',
                 'test/test_node.py'):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('text')
    return tmp_path


@pytest.mark.parametrize('name', [
    'a_package/node.py', 'test/test_node.py', 'test/test_new.py', 'a_package/x.pyc'])
def test_links_show_these_without_a_build(package, name):
    before = build.fingerprint(package)
    (package / name).write_text('changed')
    assert build.fingerprint(package) == before


@pytest.mark.parametrize('name', [
    'package.xml', 'setup.py', 'config/robot.yaml', 'config/new.yaml', 'a_package/new.py'])
def test_these_need_a_build(package, name):
    before = build.fingerprint(package)
    (package / name).write_text('changed')
    assert build.fingerprint(package) != before


def test_another_python_needs_a_build(package, monkeypatch):
    before = build.fingerprint(package)
    monkeypatch.setattr(build.sys, 'prefix', '/elsewhere')
    assert build.fingerprint(package) != before


def test_results_of_a_moved_checkout_are_made_anew(package, monkeypatch, tmp_path_factory):
    monkeypatch.setattr(build, 'BUILD', tmp_path_factory.mktemp('build'))
    build.forget_moved('a_package', package)
    result = build.BUILD / 'a_package' / 'CMakeCache.txt'
    result.touch()
    build.forget_moved('a_package', package)
    assert result.exists()
    build.forget_moved('a_package', package / 'moved')
    assert not result.exists()


def test_links_to_removed_files_go(tmp_path, monkeypatch):
    monkeypatch.setattr(build, 'INSTALL', tmp_path)
    (tmp_path / 'here').touch()
    (tmp_path / 'good').symlink_to(tmp_path / 'here')
    (tmp_path / 'dangling').symlink_to(tmp_path / 'gone')
    build.remove_dangling_links()
    assert sorted(path.name for path in tmp_path.iterdir()) == ['good', 'here']


def test_without_colcon_nothing_is_touched(package, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(build, 'packages', lambda: {'a_package': package})
    monkeypatch.setattr(build, 'BUILD', tmp_path / 'build')
    monkeypatch.setattr(build.shutil, 'which', lambda _: None)
    monkeypatch.setattr(build, 'remove_dangling_links', lambda: pytest.fail('touched'))
    assert build.build([]) == 1
    assert 'env.sh' in capsys.readouterr().err
