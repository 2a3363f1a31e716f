"""Everyday localizer with a meter, to see what an unmapped obstacle does to it."""

from launch.actions import LogInfo
from oomwoo_sim_support import localization_scene as scene
from oomwoo_sim_support.launch_choices import described, given, is_true

ARGUMENTS = (
    *scene.ARGUMENTS,
    ('filter', 'false', 'let the localizer match the scan without what is not on the map'),
)


def _start(context):
    value = given(ARGUMENTS, context)
    map_file, notes = scene.find_map(value['map'])
    localizer, line = scene.choose_localizer(value['localizer'], map_file)
    filtered = is_true('filter', value['filter'])
    scan = 'scan_filtered' if filtered else 'scan'
    return [
        *(LogInfo(msg=note) for note in (*notes, f'{line}, matching {scan}')),
        scene.map_server(value, map_file),
        *scene.localizer_nodes(localizer, value, map_file, scan),
        # Scored against the saved map, whatever the localizer makes of it meanwhile.
        scene.ours(
            'localization_health', value, [{'yaml_filename': map_file}], 'oomwoo_localization'
        ),
        scene.ours('scan_filter', value, package='oomwoo_localization'),
        scene.ours('dynamic_object_detector', value, package='oomwoo_localization'),
        scene.error_meter('loc_err_slam', value),
        *scene.viewer(value),
    ]


def generate_launch_description():
    """Declare the arguments and start the scene."""
    return described(ARGUMENTS, _start)
