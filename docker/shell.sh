# shellcheck shell=bash
# What a shell in the container starts with: the workspace, and how OpenGL is done. Sourced.
_oomwoo_top=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
# shellcheck source=../env.sh disable=SC1091
. "$_oomwoo_top/env.sh"
# shellcheck source=gl.sh disable=SC1091
. "$_oomwoo_top/docker/gl.sh"
oomwoo_choose_gl 2>/dev/null
unset _oomwoo_top
