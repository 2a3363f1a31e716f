#!/bin/sh
# Make the workspace's Python and ROS 2 ready: finds the right Python and starts prefix.py with it.
# Environment: OOMWOO_PYTHON names that interpreter, OOMWOO_ROS_ROOT another place of an apt ROS 2.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
ros_root=${OOMWOO_ROS_ROOT:-/opt/ros/jazzy}

is_python_3_12() {
    [ -n "$1" ] &&
        "$1" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 12))' 2>/dev/null
}

# Print the candidates one a line, the likeliest first.
python_candidates() {
    command -v python3.12 || true
    command -v python3 || true
    pyenv=$(command -v pyenv || echo "${PYENV_ROOT:-$HOME/.pyenv}/bin/pyenv")
    if [ -x "$pyenv" ]; then
        "$pyenv" prefix 3.12 2>/dev/null | sed 's|$|/bin/python3.12|' || true
    fi
    for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.12*/bin/python3.12; do
        [ ! -x "$python" ] || echo "$python"
    done
    if command -v uv >/dev/null; then
        uv python find --no-python-downloads 3.12 2>/dev/null || true
    fi
    [ ! -x /usr/bin/python3.12 ] || echo /usr/bin/python3.12
}

find_python() {
    if [ -n "${OOMWOO_PYTHON:-}" ]; then
        echo "$OOMWOO_PYTHON"
        return
    fi
    # An apt ROS 2 is bound to the system's interpreter.
    if [ -e "$ros_root/setup.sh" ] && [ -x /usr/bin/python3 ]; then
        echo /usr/bin/python3
        return
    fi
    python_candidates | while IFS= read -r python; do
        if is_python_3_12 "$python"; then
            echo "$python"
            break
        fi
    done
}

python=$(find_python)
if ! is_python_3_12 "$python"; then
    if [ -n "$python" ]; then
        echo "setup: $python is not a working Python 3.12." >&2
    else
        echo "setup: no Python 3.12 found on PATH, under pyenv or under uv." >&2
        python_candidates | grep '3\.12' | while IFS= read -r broken; do
            echo "setup: ($broken is there, but does not run: $("$broken" -c '' 2>&1 | head -n 1))"
        done >&2
    fi
    echo "setup: ROS 2 Jazzy needs exactly that version. Install it (apt install python3.12-dev" \
        "python3.12-venv, pyenv install 3.12, or uv python install 3.12) and run this again, or" \
        "name one with OOMWOO_PYTHON=/path/to/python3.12." >&2
    exit 1
fi
exec "$python" "$here/prefix.py" "$@"
