"""Installs the oomwoo_localization package."""
from glob import glob
from os.path import isfile

from setuptools import find_packages, setup

PACKAGE = 'oomwoo_localization'


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
        'Robot facts, frames, scans and occupancy grids; '
        'localization that knows when it is lost.'),
    license='Apache-2.0',
    entry_points={'console_scripts': [
        'global_relocalizer = oomwoo_localization.global_relocalizer_node:main',
        'scan_localizer = oomwoo_localization.scan_localizer_node:main',
        'localization_health = oomwoo_localization.localization_health_node:main',
        'localization_manager = oomwoo_localization.localization_manager_node:main',
        'scan_filter = oomwoo_localization.scan_filter_node:main',
        'compose = oomwoo_localization.compose_node:main',
        'dynamic_object_detector = oomwoo_localization.dynamic_object_detector_node:main',
    ]},
)
