# shellcheck shell=bash
# Choose how OpenGL is done; sourced. Gazebo's LiDAR is rendered (ogre2), window or not.
#
# OOMWOO_GL=auto       the graphics card where one can be used, else software (the default)
#          =software   Mesa's llvmpipe: a quarter of a core for a LiDAR of 360 beams at 10 Hz
#          =hardware   leave everything as it is

# Print the render device that this user may use; fail without one. Folder $1 stands for /dev.
oomwoo_render_device() {
    local device
    # dxg is the graphics card under WSL.
    for device in "$1"/dri/renderD* "$1"/nvidia[0-9]* "$1"/dxg; do
        if [ -e "$device" ]; then
            if [ -r "$device" ] && [ -w "$device" ]; then
                echo "$device"
                return 0
            fi
            echo "gl: no access to $device (docker run --group-add $(stat -c %g "$device"))" >&2
        fi
    done
    return 1
}

oomwoo_choose_gl() {
    local device
    case ${OOMWOO_GL:-auto} in
        auto)
            if device=$(oomwoo_render_device "${OOMWOO_DEV:-/dev}"); then
                echo "gl: $device" >&2
                if [ -d /usr/lib/wsl/lib ]; then
                    export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/lib/wsl/lib"
                fi
                return 0
            fi ;;
        software) ;;
        hardware) return 0 ;;
        *)
            echo "gl: OOMWOO_GL=$OOMWOO_GL is none of auto, software, hardware" >&2
            return 1 ;;
    esac
    export LIBGL_ALWAYS_SOFTWARE=1 GALLIUM_DRIVER=llvmpipe
    # NVIDIA's library, where it is installed without a card, would be asked first.
    if [ -e /usr/share/glvnd/egl_vendor.d/50_mesa.json ]; then
        export __EGL_VENDOR_LIBRARY_FILENAMES=/usr/share/glvnd/egl_vendor.d/50_mesa.json
    fi
    if [ -z "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
        export EGL_PLATFORM=surfaceless
        echo "gl: no render device, no display: software, surfaceless EGL" >&2
    else
        echo "gl: no render device: software, windows on ${DISPLAY:-$WAYLAND_DISPLAY}" >&2
    fi
}

# Say what is wrong with a display of this machine that is not there.
oomwoo_check_display() {
    local number=${DISPLAY:-}
    number=${number#:}
    case ${DISPLAY:-} in
        :*)
            number=${number%%.*}
            if [ ! -S "${OOMWOO_X11:-/tmp/.X11-unix}/X$number" ]; then
                echo "display: DISPLAY=$DISPLAY, but no X server is there: mount its socket" \
                    "(-v /tmp/.X11-unix:/tmp/.X11-unix) or unset DISPLAY to run without windows" >&2
            fi ;;
    esac
}
