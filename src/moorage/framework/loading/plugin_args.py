"""A plugin's arguments: from the configuration file into the Struct the plugin names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from moorage.framework.extension_points import Plugin
from moorage.framework.loading.registry import PluginLoadError


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
    unknown = list(_unknown_fields(inspect.type_info(wanted), given, "args"))
    if unknown:
        raise PluginLoadError("; ".join(unknown))
    try:
        return msgspec.convert(given, wanted)
    except msgspec.ValidationError as error:
        text = str(error)
        message, _, path = text.partition(" - at `$")
        raise PluginLoadError(f"args{path.rstrip('`')}: {message}") from None


def _unknown_fields(wanted: inspect.Type, given: Any, path: str) -> Iterator[str]:
    """Every field, at any depth, that the Struct does not have."""
    if isinstance(wanted, inspect.StructType) and isinstance(given, dict):
        fields = {field.encode_name: field.type for field in wanted.fields}
        for name, value in given.items():
            if name in fields:
                yield from _unknown_fields(fields[name], value, f"{path}.{name}")
            elif name != wanted.tag_field:
                yield f"{path}.{name}: unknown field; known are {', '.join(sorted(fields)) or 'none'}"
    elif isinstance(wanted, inspect.UnionType):
        structs = [choice for choice in wanted.types if isinstance(choice, inspect.StructType)]
        for choice in wanted.types if len(structs) < 2 else ():
            yield from _unknown_fields(choice, given, path)
    elif isinstance(wanted, inspect.CollectionType) and isinstance(given, list):
        for i, value in enumerate(given):
            yield from _unknown_fields(wanted.item_type, value, f"{path}[{i}]")
    elif isinstance(wanted, inspect.DictType) and isinstance(given, dict):
        for name, value in given.items():
            yield from _unknown_fields(wanted.value_type, value, f"{path}.{name}")
