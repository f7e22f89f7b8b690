"""Writes docs/configuration-reference.md from the types that read a scheduler configuration.

python -m tools.configuration_reference
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from moorage.api.custom_resources.field_docs import field_docs
from moorage.api.durations import Duration
from moorage.api.points import POINTS
from moorage.config.args import ARGS_TYPES
from moorage.config.defaults import default_plugins
from moorage.config.types import V1, ConfigPart, KubeSchedulerConfiguration, Plugins, PluginSet
from moorage.plugins.catalog import CATALOG

PAGE = Path(__file__).parent.parent / "docs" / "configuration-reference.md"

_HEAD = f"""# Configuration reference

Every field of a scheduler configuration (`{V1}`), its type, its default and what it
does. The file is kube-scheduler's: one that works there works here. `moorage config validate FILE` checks
one, `moorage config view FILE` shows it with all defaults, and [recipes.md](recipes.md) has some to copy.

This page is made from the code by `python -m tools.configuration_reference`; a test keeps it so.
"""
_PLUGINS = """## Plugins

Under `multiPoint` and under each extension point stands a [PluginSet](#pluginset). `multiPoint` enables a
plugin wherever it has something to do; the set of a single point adds to that, or takes away. The points, in
the order of one attempt (the last two count for groups of pods only, whose feature gates are off by default):
"""
_DEFAULTS = """## The default plugins

Enabled at `multiPoint`, in this order, unless the file says otherwise. A plugin that a file enables again
without a weight gets the weight 1.

| plugin | weight | extension points |
|---|---|---|
"""
_ARGS = """## The args of the in-tree plugins

They stand under `pluginConfig`, with the plugin's name. [in-tree-plugins.md](in-tree-plugins.md) says what
the plugins do. Those of your own have the args that `args_type` names ([plugins.md](plugins.md#arguments)).
"""
_OF_THE_API = "moorage.api."


def page() -> str:
    """The whole page."""
    parts = [_HEAD]
    configuration = _parts_below(KubeSchedulerConfiguration)
    parts += [_section(part) for part in configuration if part is not Plugins]
    parts.append(_PLUGINS + "\n" + "\n".join(f"- `{point}`" for point in POINTS) + "\n")
    parts.append(_DEFAULTS + "\n".join(_default_rows()) + "\n")
    parts.append(_ARGS)
    seen = set(configuration)
    for name in sorted(ARGS_TYPES):
        for part in _parts_below(ARGS_TYPES[name]):
            if part not in seen:
                seen.add(part)
                parts.append(_section(part, "###"))
    return "\n".join(parts)


def _parts_below(part: type[ConfigPart]) -> list[type[ConfigPart]]:
    """A part and those its fields are made of, each once, in the order of the fields."""
    found = [part]
    for hint in typing.get_type_hints(part).values():
        for inner in _classes(hint):
            if issubclass(inner, ConfigPart):
                found += _parts_below(inner)
    return list(dict.fromkeys(found))


def _classes(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and not typing.get_args(hint):
        yield hint
    for inner in typing.get_args(hint):
        yield from _classes(inner)


def _default_rows() -> Iterator[str]:
    for plugin in default_plugins():
        points = ", ".join(CATALOG[plugin.name].points)
        yield f"| {plugin.name} | {plugin.weight or ''} | {points} |".replace("|  |", "| |")


def _section(part: type[ConfigPart], level: str = "##") -> str:
    docs = field_docs(part)
    hints = typing.get_type_hints(part)
    rows = [
        f"| `{info.encode_name}` | {_type(hints[info.name])} | {_default(info)} | {docs[info.name]} |"
        for info in msgspec.structs.fields(part)
    ]
    heading = f"{level} {part.__name__}"
    return "\n".join((heading, "", "| field | type | default | |", "|---|---|---|---|", *rows)) + "\n"


def _type(hint: Any) -> str:
    """A type in a reader's words."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _type(inner[0])
    if origin is list:
        return f"list of {_type(inner[0])}"
    if hint is Any:
        return "any"
    if issubclass(hint, Plugins):
        return "[Plugins](#plugins)"
    if issubclass(hint, ConfigPart):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    if issubclass(hint, Duration):
        return "duration"
    if hint.__module__.startswith(_OF_THE_API):
        return f"{hint.__name__} of the pod API"
    return {str: "text", bytes: "base64", bool: "boolean", int: "integer", float: "number"}[hint]


def _default(info: msgspec.structs.FieldInfo) -> str:
    if info.required:
        return "required"
    value = info.default if info.default is not msgspec.NODEFAULT else info.default_factory()
    if isinstance(value, PluginSet | Plugins) or value in ("", b"", None) or value == []:
        return ""
    if isinstance(value, ConfigPart):
        return "its defaults" if value == type(value)() else f"`{_only_given(value)}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _only_given(part: ConfigPart) -> str:
    usual = type(part)()
    given = {
        info.encode_name: getattr(part, info.name)
        for info in msgspec.structs.fields(part)
        if getattr(part, info.name) != getattr(usual, info.name)
    }
    return "{" + ", ".join(f"{name}: {value}" for name, value in given.items()) + "}"


if __name__ == "__main__":
    PAGE.write_text(page())
