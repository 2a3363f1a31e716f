#!/bin/bash
# Tell Docker whether the container does its job: OOMWOO_HEALTH says which.
#
# import     ROS and the workspace can be imported (the default)
# scan       a scan arrives
# foxglove   something listens at the port of Foxglove
# navigate   /navigate_to_pose takes goals
set -eu
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
# shellcheck source=../env.sh disable=SC1091
. "$here/../env.sh"
case ${OOMWOO_HEALTH:-import} in
    import) exec python3 -c 'import rclpy, oomwoo_clean, oomwoo_localization_msgs.srv' ;;
    scan) exec python3 "$here/scan_watchdog.py" --once --patience 12 ;;
    foxglove)
        exec python3 -c '
import os, socket
socket.create_connection(("127.0.0.1", int(os.environ.get("FOXGLOVE_PORT") or 8765)), 5)' ;;
    navigate)
        exec python3 "$here/navigation_ready.py" --patience 12 ;;
    *)
        echo "healthcheck: OOMWOO_HEALTH=$OOMWOO_HEALTH is none of import, scan, foxglove," \
            "navigate" >&2
        exit 1 ;;
esac
