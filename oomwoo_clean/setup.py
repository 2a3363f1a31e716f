"""Installs the oomwoo_clean package."""
from glob import glob
from os.path import isfile

from setuptools import find_packages, setup

PACKAGE = 'oomwoo_clean'


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
        *data('config', 'launch'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='OOMWOO maintainers',
    maintainer_email='maintainers@oomwoo.example',
    description=(
        'Edge cleaning and docking: follower, edge manager, dock drive, and what measures them.'),
    license='Apache-2.0',
    entry_points={'console_scripts': [
        'bump_map = oomwoo_clean.bump_map_node:main',
        'clean_manager = oomwoo_clean.clean_manager_node:main',
        'dock_drive = oomwoo_clean.dock_drive_node:main',
        'coverage_planner = oomwoo_clean.coverage_planner_node:main',
        'contour_follower = oomwoo_clean.contour_follower_node:main',
        'dock_detector = oomwoo_clean.dock_detector_node:main',
        'escape_reflex = oomwoo_clean.escape_reflex_node:main',
        'velocity_mux = oomwoo_clean.velocity_mux_node:main',
        'wall_clean_bump_out = oomwoo_clean.wall_clean_bump_out_node:main',
    ]},
)
