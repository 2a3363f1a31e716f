# shellcheck shell=bash
# Source this from bash or zsh to work in the workspace:  source env.sh
#
# Takes the apt ROS 2 Jazzy if there is one, else the bare one that `make setup` made, then this
# checkout's build. Sourcing it again brings a fresh build in and adds nothing twice.

# Prepend folder $2 to the path variable $1, unless it is there already; then move it to the front.
_oomwoo_prepend() {
    eval "_oomwoo_new=:\${$1:-}:"
    while :; do
        case $_oomwoo_new in
            *":$2:"*) _oomwoo_new="${_oomwoo_new%%":$2:"*}:${_oomwoo_new#*":$2:"}" ;;
            *) break ;;
        esac
    done
    _oomwoo_new=${_oomwoo_new#:}
    _oomwoo_new=${_oomwoo_new%:}
    export "$1=$2${_oomwoo_new:+:$_oomwoo_new}"
}

_oomwoo_env() {
    if [ ! -e "$OOMWOO_ROOT/.prefix/complete.json" ]; then
        echo "env.sh: the workspace is not set up yet; run: make setup" >&2
        return 1
    fi
    _oomwoo_prefix=$(readlink "$OOMWOO_ROOT/.prefix")
    _oomwoo_pins=$OOMWOO_ROOT/tools/bare_ros/requirements
    for _oomwoo_lock in "$_oomwoo_prefix"/*.lock; do
        if ! cmp -s "$_oomwoo_lock" "$_oomwoo_pins/${_oomwoo_lock##*/}"; then
            echo "env.sh: the pinned packages changed since the last set-up; run: make setup" >&2
            return 1
        fi
    done

    if [ -d "$_oomwoo_prefix/jazzy" ]; then
        export ROS_DISTRO=jazzy ROS_VERSION=2 ROS_PYTHON_VERSION=3
        export RMW_IMPLEMENTATION="${RMW_IMPLEMENTATION:-rmw_fastrtps_cpp}"
        _oomwoo_prepend AMENT_PREFIX_PATH "$_oomwoo_prefix/jazzy"
        _oomwoo_prepend PYTHONPATH "$OOMWOO_ROOT/tools/bare_ros/ros2_verbs"
        _oomwoo_prepend PYTHONPATH "$_oomwoo_prefix/jazzy/rclpy"
        _oomwoo_prepend LD_LIBRARY_PATH "$_oomwoo_prefix/jazzy/lib"
        _oomwoo_prepend CMAKE_PREFIX_PATH "$_oomwoo_prefix/venv"
    else
        # ROS's own script reads unset variables and may fail in a test.
        _oomwoo_flags=$-
        set +eu
        # shellcheck disable=SC1090,SC1091
        . "${OOMWOO_ROS_ROOT:-/opt/ros/jazzy}/setup.${_oomwoo_shell}"
        case $_oomwoo_flags in *e*) set -e ;; esac
        case $_oomwoo_flags in *u*) set -u ;; esac
    fi
    _oomwoo_prepend PATH "$_oomwoo_prefix/venv/bin"

    # One machine, one robot: no traffic on the network, and a domain of one's own per user.
    export ROS_AUTOMATIC_DISCOVERY_RANGE="${ROS_AUTOMATIC_DISCOVERY_RANGE:-LOCALHOST}"
    # Which Fast DDS takes for 32 processes at most, unless it is told otherwise.
    if [ "$ROS_AUTOMATIC_DISCOVERY_RANGE" = LOCALHOST ] && [ -z "${FASTRTPS_DEFAULT_PROFILES_FILE:-}" ] &&
        [ -e "$OOMWOO_ROOT/tools/dds_more_peers.xml" ]; then
        export FASTRTPS_DEFAULT_PROFILES_FILE="$OOMWOO_ROOT/tools/dds_more_peers.xml"
    fi
    export ROS_DOMAIN_ID="${ROS_DOMAIN_ID:-$((UID % 19 + 1))}"

    if [ -d "$OOMWOO_ROOT/install" ]; then
        _oomwoo_prepend AMENT_PREFIX_PATH "$OOMWOO_ROOT/install"
        _oomwoo_prepend CMAKE_PREFIX_PATH "$OOMWOO_ROOT/install"
        _oomwoo_prepend LD_LIBRARY_PATH "$OOMWOO_ROOT/install/lib"
        _oomwoo_prepend PYTHONPATH "$OOMWOO_ROOT/install/lib/python3.12/site-packages"
        # colcon build --symlink-install leaves the packages in the checkout; build/ links to them.
        while IFS= read -r _oomwoo_package; do
            [ -z "$_oomwoo_package" ] || _oomwoo_prepend PYTHONPATH "$_oomwoo_package"
        done <<EOF
$(find "$OOMWOO_ROOT/build" -mindepth 2 -maxdepth 2 -type l -name setup.py -printf '%h\n' 2>/dev/null | sort)
EOF
    fi
}

if [ -n "${ZSH_VERSION:-}" ]; then
    eval '_oomwoo_file=${(%):-%x}'
    _oomwoo_shell=zsh
else
    _oomwoo_file=${BASH_SOURCE[0]}
    _oomwoo_shell=bash
fi
OOMWOO_ROOT=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$_oomwoo_file")")" && pwd -P)
export OOMWOO_ROOT
_oomwoo_status=0
_oomwoo_env || _oomwoo_status=$?
unset -f _oomwoo_env _oomwoo_prepend
unset _oomwoo_file _oomwoo_shell _oomwoo_prefix _oomwoo_pins _oomwoo_lock _oomwoo_flags _oomwoo_new
unset _oomwoo_package
eval "unset _oomwoo_status; return $_oomwoo_status"
