"""Discovery, in the container and with env.sh: this machine only, and of many processes."""
import os
from pathlib import Path
import subprocess
import sys
from xml.etree import ElementTree

PROFILE = Path(__file__).resolve().parents[1] / 'dds_one_machine.xml'
MORE_PEERS = PROFILE.parents[1] / 'tools' / 'dds_more_peers.xml'
MANY = 36
# A context has a DDS participant of its own, as a process has.
PROGRAM = f"""
import time
import rclpy
contexts, nodes = [rclpy.Context() for _ in range({MANY})], []
for number, context in enumerate(contexts):
    rclpy.init(context=context)
    nodes.append(rclpy.create_node(
        f'n{{number}}', context=context, enable_rosout=False, start_parameter_services=False))
end = time.monotonic() + 60.0
while len(set(nodes[-1].get_node_names())) < {MANY} and time.monotonic() < end:
    time.sleep(0.2)
print(*sorted(set(nodes[-1].get_node_names())))
for context in contexts:
    context.shutdown()
"""


def dockerfile():
    """Return the environment that the image sets, a dict, and its text."""
    text = (PROFILE.parent / 'Dockerfile').read_text(encoding='utf-8')
    words = ' '.join(
        line.removeprefix('ENV ') for line in text.splitlines() if line.startswith('ENV '))
    return dict(word.split('=', 1) for word in words.split()), text


def known(profile, discovery):
    """Return the names that the last of MANY processes knows."""
    ended = subprocess.run(
        [sys.executable, '-c', PROGRAM], capture_output=True, text=True, timeout=240,
        env={**os.environ, 'ROS_AUTOMATIC_DISCOVERY_RANGE': discovery,
             'FASTRTPS_DEFAULT_PROFILES_FILE': str(profile)})
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def test_the_last_of_many_processes_sees_all_the_others():
    """With LOCALHOST, which it would be without the file, it sees 33."""
    image, _ = dockerfile()
    assert len(known(PROFILE, image['ROS_AUTOMATIC_DISCOVERY_RANGE'])) == MANY


def test_env_sh_has_a_file_with_which_localhost_does_not_end_at_32():
    assert len(known(MORE_PEERS, 'LOCALHOST')) == MANY


def test_nothing_leaves_the_machine():
    names = {'': 'http://www.eprosima.com/XMLSchemas/fastRTPS_Profiles'}
    root = ElementTree.parse(PROFILE).getroot()
    used = {e.text for e in root.findall('.//userTransports/transport_id', names)}
    kinds = {}
    for transport in root.iterfind('.//transport_descriptor', names):
        allowed = [a.text for a in transport.findall('interfaceWhiteList/address', names)]
        kinds[transport.findtext('transport_id', namespaces=names)] = (
            transport.findtext('type', namespaces=names), allowed)
    assert kinds == {'shared_memory': ('SHM', []), 'loopback': ('UDPv4', ['127.0.0.1'])}
    assert used == set(kinds)
    participant = root.find('participant', names)
    assert participant.get('is_default_profile') == 'true'
    assert participant.findtext('rtps/useBuiltinTransports', namespaces=names) == 'false'
    # And the image uses it, from where no mounted checkout hides it.
    image, text = dockerfile()
    place = image['FASTRTPS_DEFAULT_PROFILES_FILE']
    assert f'docker/{PROFILE.name} {place}\n' in text and not place.startswith('/ros_ws')
