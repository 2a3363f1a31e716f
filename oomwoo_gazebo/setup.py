"""Installs the oomwoo_gazebo package."""
from glob import glob
from os.path import isfile

from setuptools import find_packages, setup

PACKAGE = 'oomwoo_gazebo'


def data(*folders):
    """Return (target, files) pairs for the package's data folders."""
    share = f'share/{PACKAGE}'
    return [(f'{share}/{folder}', list(filter(isfile, glob(f'{folder}/*'))))
            for folder in folders]


setup(
    name=PACKAGE,
    version='0.1.0',
    packages=find_packages(exclude=['test']),
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (f'share/{PACKAGE}', ['package.xml']),
        *data('worlds', 'config', 'launch'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='OOMWOO maintainers',
    maintainer_email='maintainers@oomwoo.example',
    description='Gazebo: generated worlds, bridge, bumper, the launch file that starts it.',
    license='Apache-2.0',
    entry_points={'console_scripts': [
        'bumper_adapter = oomwoo_gazebo.bumper_adapter_node:main',
        'command_expiry = oomwoo_gazebo.command_expiry_node:main',
        'scan_watch = oomwoo_gazebo.scan_watch_node:main',
    ]},
)
