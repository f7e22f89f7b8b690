"""A plugin's arguments: from the configuration file into the Struct the plugin names."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.framework.extension_points import Plugin
from moorage.framework.registry import PluginLoadError


def decode_args(plugin: type[Plugin], args: Any) -> Any:
    """The typed arguments of a plugin, strictly decoded; a wrong field is reported with its path."""
    wanted = plugin.args_type
    if wanted is None:
        if args:
            raise PluginLoadError("args: this plugin takes no arguments; remove them or set `args_type`")
        return None
    if isinstance(args, wanted):
        return args
    given = {} if args is None else args
    if not isinstance(given, dict):
        raise PluginLoadError(f"args: expected a mapping, got {type(given).__name__}")
    given = {key: value for key, value in given.items() if key not in ("apiVersion", "kind")}
    unknown = _unknown_fields(wanted, given, "args")
    if unknown:
        raise PluginLoadError("; ".join(unknown))
    try:
        return msgspec.convert(given, wanted)
    except msgspec.ValidationError as error:
        text = str(error)
        message, _, path = text.partition(" - at `$")
        raise PluginLoadError(f"args{path.rstrip('`')}: {message}") from None


def _unknown_fields(wanted: type[msgspec.Struct], given: dict[str, Any], path: str) -> list[str]:
    """Every field, at any depth, that the Struct does not have."""
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(wanted)}
    problems = [
        f"{path}.{name}: unknown field; known are {', '.join(sorted(fields)) or 'none'}"
        for name in given
        if name not in fields
    ]
    for name, value in given.items():
        inner = fields.get(name)
        if isinstance(value, dict) and isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            problems += _unknown_fields(inner, value, f"{path}.{name}")
    return problems
