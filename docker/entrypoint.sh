#!/bin/bash
# Run a command in the container: workspace, OpenGL, and a watchdog where a simulator is started.
#
#     entrypoint.sh ros2 launch oomwoo_gazebo world.launch.py headless:=true
#
# OOMWOO_GL      how OpenGL is done: see gl.sh
# OOMWOO_WATCH   scan: say within 20 s when no scan arrives, and why; none; auto (the default): scan
#                where the command launches a world
set -eu
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# Somebody's own checkout, mounted over the one of the image, is linked to another machine's Python, or to none.
[ -e "$here/../.prefix/complete.json" ] || "$here/../tools/bare_ros/setup.sh" >&2
# shellcheck source=../env.sh disable=SC1091
. "$here/../env.sh"
# shellcheck source=gl.sh disable=SC1091
. "$here/gl.sh"
oomwoo_choose_gl
oomwoo_check_display

watch=${OOMWOO_WATCH:-auto}
if [ "$watch" = auto ]; then
    watch=none
    case "$*" in *world.launch.py* | *demo.launch.py*) watch=scan ;; esac
fi
case $watch in
    scan) python3 "$here/scan_watchdog.py" & ;;
    none) ;;
    *)
        echo "entrypoint: OOMWOO_WATCH=$watch is none of auto, scan, none" >&2
        exit 2 ;;
esac
[ $# -gt 0 ] || set -- bash
exec "$@"
