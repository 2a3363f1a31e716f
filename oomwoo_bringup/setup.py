"""Installs the oomwoo_bringup package."""
from glob import glob
from os.path import isfile

from setuptools import find_packages, setup

PACKAGE = 'oomwoo_bringup'


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
        *data('behavior_trees', 'config', 'foxglove', 'launch', 'robot', 'rviz', 'urdf'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='OOMWOO maintainers',
    maintainer_email='maintainers@oomwoo.example',
    description='Robot description, parameters, RViz and Foxglove layouts, launch files.',
    license='Apache-2.0',
    entry_points={'console_scripts': [
        'command_guard = oomwoo_bringup.command_guard_node:main',
        'foxglove_server = oomwoo_bringup.foxglove_server_node:main',
        'lidar_driver = oomwoo_bringup.lidar_driver_node:main',
    ]},
)
