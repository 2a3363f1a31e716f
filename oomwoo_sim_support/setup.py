"""Installs the oomwoo_sim_support package."""
from glob import glob
from os.path import isfile

from setuptools import find_packages, setup

PACKAGE = 'oomwoo_sim_support'


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
        *data('layouts', 'maps', 'config', 'launch'),
    ],
    install_requires=['setuptools'],
    extras_require={'test': ['pytest']},
    zip_safe=True,
    maintainer='OOMWOO maintainers',
    maintainer_email='maintainers@oomwoo.example',
    description=(
        'Worlds from layout files, the embedded simulator, the rehearsal '
        'and the embedded navigator.'),
    license='Apache-2.0',
    entry_points={'console_scripts': [
        'embedded_sim = oomwoo_sim_support.embedded_sim_node:main',
        'truth_localizer = oomwoo_sim_support.truth_localizer_node:main',
        'battery_sim = oomwoo_sim_support.battery_sim_node:main',
        'ir_beacon_sim = oomwoo_sim_support.ir_beacon_sim_node:main',
        'embedded_navigator = oomwoo_sim_support.embedded_navigator_node:main',
        'map_server = oomwoo_sim_support.map_server_node:main',
        'map_saver = oomwoo_sim_support.map_saver_node:main',
        'localization_error = oomwoo_sim_support.localization_error_node:main',
        'coverage_meter = oomwoo_sim_support.coverage_meter_node:main',
        'odom_slip = oomwoo_sim_support.odom_slip_node:main',
        'kidnap_injector = oomwoo_sim_support.kidnap_injector_node:main',
        'reloc_eval = oomwoo_sim_support.reloc_eval_node:main',
        'spawn_obstacle = oomwoo_sim_support.spawn_obstacle_node:main',
        'recorder = oomwoo_sim_support.recorder_node:main',
    ]},
)
