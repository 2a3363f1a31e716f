"""
Settings of an algorithm: one dataclass is its defaults, units, ranges and descriptions.

The harness builds the dataclass directly; the node declares the same fields as ROS parameters, so
that a default is written once. A settings class reads::

    @dataclass(frozen=True)
    class FollowerSettings:
        standoff_m: float = setting(0.23, 'body centre to surface', 'm', 0.18, 1.0)
"""
from dataclasses import field, fields
import math


class SettingError(ValueError):
    """A value that a setting does not take; the message names setting, value and range."""


def setting(default, description, unit='', low=None, high=None, choices=None, live=True):
    """
    Declare one field of a settings dataclass.

    ``low`` and ``high`` are inclusive; ``choices`` lists the words a string may be; ``live`` tells
    whether the value may change while the node runs.
    """
    return field(default=default, metadata={
        'description': description, 'unit': unit, 'low': low, 'high': high, 'choices': choices,
        'live': live})


def check_setting(info, value):
    """Return ``value`` as the type of the field ``info``, or raise :class:`SettingError`."""
    kind = type(info.default)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind:
        raise SettingError(f'{info.name}: expected {kind.__name__}, got {value!r}')
    if kind is float and not math.isfinite(value):
        raise SettingError(f'{info.name}: must be finite, got {value!r}')
    meta = info.metadata
    low, high, unit = meta['low'], meta['high'], meta['unit']
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f'{"-inf" if low is None else low} .. {"inf" if high is None else high}'
        raise SettingError(
            f'{info.name}: {value!r} is outside {bounds}{" " + unit if unit else ""}')
    if meta['choices'] and value not in meta['choices']:
        raise SettingError(f'{info.name}: {value!r} is none of {", ".join(meta["choices"])}')
    return value


def check_settings(settings):
    """Check every field of a settings object; return it, or raise :class:`SettingError`."""
    for info in fields(settings):
        check_setting(info, getattr(settings, info.name))
    return settings


def settings_table(kind):
    """Return a Markdown table of the settings: name, default, unit, range, description."""
    rows = [
        '| parameter | default | unit | range | what it is |', '| --- | --- | --- | --- | --- |']
    for info in fields(kind):
        meta = info.metadata
        limits = ', '.join(meta['choices']) if meta['choices'] else (
            '' if meta['low'] is None and meta['high'] is None
            else f'{meta["low"]} .. {meta["high"]}')
        rows.append(
            f'| `{info.name}` | {info.default} | {meta["unit"]} | {limits} '
            f'| {meta["description"]} |')
    return '\n'.join(rows)
