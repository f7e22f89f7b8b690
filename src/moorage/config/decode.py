"""Plain values to typed objects, strictly, with everything that is wrong reported at once.

`null` counts as absent, as it does for Kubernetes.
"""

from __future__ import annotations

import base64
import binascii
import math
import types
import typing
from functools import cache
from typing import Any

import msgspec

from moorage.api.durations import Duration, DurationError
from moorage.config.args import ARGS_TYPES, PluginArgs
from moorage.config.problems import ConfigProblem, child, shown
from moorage.config.remedies import did_you_mean
from moorage.config.types import GROUP, KubeSchedulerConfiguration, PluginConfig

_HEADER = ("apiVersion", "kind")
_SCALARS: dict[type, tuple[str, str]] = {
    bool: ("bool", "true or false"),
    int: ("int64", "a whole number"),
    float: ("float32", "a number"),
    str: ("string", "text; put it in quotes"),
    bytes: ("[]uint8", "text in base64"),
    Duration: ("string", 'a duration such as "15s"'),
}


def decode_config(
    document: dict[str, Any], version: str
) -> tuple[KubeSchedulerConfiguration, list[ConfigProblem]]:
    """Reads a configuration document of this apiVersion. With problems, the result is not to be used."""
    decoder = _Decoder()
    config = decoder.struct(document, KubeSchedulerConfiguration, "", "")
    problems = decoder.problems
    for i, profile in enumerate(config.profiles):
        for j, plugin in enumerate(profile.plugin_config):
            place = f"profiles[{i}].pluginConfig[{j}]"
            plugin.args, found = _decode_args(plugin, version, place)
            problems += found
    return config, problems


def _decode_args(plugin: PluginConfig, version: str, place: str) -> tuple[Any, list[ConfigProblem]]:
    args_type = ARGS_TYPES.get(plugin.name)
    if args_type is None:
        return plugin.args, []
    wanted = plugin.args if plugin.args is not None else {}
    path = f"{place}.args"
    problem = _wrong_kind(plugin, wanted, version)
    if problem:
        return None, [ConfigProblem(path, f"decoding .{place}: {problem}")]
    decoder = _Decoder()
    fields = wanted
    if isinstance(wanted, dict):
        fields = {key: value for key, value in wanted.items() if key not in _HEADER}
    args: PluginArgs = decoder.struct(fields, args_type, "", "")
    args.complete()
    problems = []
    for found in decoder.problems:
        strict = "strict decoding error: " if found.message.startswith("strict decoding error: ") else ""
        message = (
            f"{strict}decoding .{place}: {strict}decoding args for plugin {plugin.name}: {found.message}"
        )
        problems.append(ConfigProblem(child(path, found.path), message))
    return args, problems


def _wrong_kind(plugin: PluginConfig, args: Any, version: str) -> str | None:
    """What is wrong with the optional `apiVersion` and `kind` inside args."""
    if not isinstance(args, dict):
        return None
    api_version, kind = args.get("apiVersion") or version, args.get("kind") or f"{plugin.name}Args"
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return f"decoding args for plugin {plugin.name}: apiVersion and kind must be text"
    known = kind.removesuffix("Args") in ARGS_TYPES and kind.endswith("Args")
    if api_version != version or not known:
        problem = f'no kind "{kind}" is registered for version "{api_version}"'
        return f"decoding args for plugin {plugin.name}: {problem}; write {version}, {plugin.name}Args"
    if kind != f"{plugin.name}Args":
        return f"args for plugin {plugin.name} were not of type {plugin.name}Args.{GROUP}, got {kind}.{GROUP}"
    return None


class _Decoder:
    def __init__(self) -> None:
        self.problems: list[ConfigProblem] = []

    def struct(self, value: Any, kind: type[msgspec.Struct], path: str, field: str) -> Any:
        """`path` is the place for the user (`a[0].b`), `field` what Go calls it (`Kind.a.b`)."""
        fields = _fields(kind)
        given: dict[str, Any] = {}
        if not isinstance(value, dict):
            self._wrong_type(value, kind, path, field)
            value = {}
        for key, entry in value.items():
            place = child(path, key)
            if key not in fields:
                remedy = did_you_mean(key, fields) or f"; known are {', '.join(fields)}"
                message = f'strict decoding error: unknown field "{place}"{remedy}'
                self.problems.append(ConfigProblem(place, message))
                continue
            name, annotation = fields[key]
            # Go names the innermost struct, then the way from the root.
            inner = f"{_go_name(kind).rpartition('.')[2]}.{child(field.partition('.')[2], key)}"
            if entry is not None:
                given[name] = self.value(entry, annotation, place, inner)
        for name, annotation in fields.values():
            if name not in given and name in _required(kind):
                given[name] = _zero(annotation)
        return kind(**given)

    def value(self, value: Any, annotation: Any, path: str, field: str) -> Any:
        annotation, meta = _without_wrapping(annotation)
        origin = typing.get_origin(annotation)
        if origin in (list, tuple):
            return self._items(value, annotation, path, field)
        if origin is dict:
            return self._mapping(value, annotation, path, field)
        if annotation is Any:
            return value
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            return self.struct({} if value is None else value, annotation, path, field)
        return self._scalar(value, annotation, meta, path, field)

    def _items(self, value: Any, annotation: Any, path: str, field: str) -> Any:
        item = typing.get_args(annotation)[0]
        if not isinstance(value, list):
            self._wrong_type(value, annotation, path, field)
            value = []
        items = (
            _zero(item) if entry is None else self.value(entry, item, f"{path}[{i}]", field)
            for i, entry in enumerate(value)
        )
        return tuple(items) if typing.get_origin(annotation) is tuple else list(items)

    def _mapping(self, value: Any, annotation: Any, path: str, field: str) -> Any:
        item = typing.get_args(annotation)[1]
        if not isinstance(value, dict):
            self._wrong_type(value, annotation, path, field)
            return {}
        return {key: self.value(entry, item, child(path, key), field) for key, entry in value.items()}

    def _scalar(self, value: Any, kind: type, meta: msgspec.Meta | None, path: str, field: str) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            self.problems.append(ConfigProblem(path, f"json: unsupported value: {value}"))
        elif kind is Duration and isinstance(value, str):
            return self._duration(value, path)
        elif kind is bytes and isinstance(value, str):
            return self._bytes(value, path)
        elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value) if abs(value) < 3.5e38 else self._wrong_type(value, kind, path, field)
        elif type(value) is kind:
            if _in_range(value, meta):
                return value
            self._wrong_type(value, kind, path, field, meta)
        else:
            self._wrong_type(value, kind, path, field, meta)
        return _zero(kind)

    def _duration(self, text: str, path: str) -> Duration:
        try:
            return Duration.parse(text)
        except DurationError as error:
            self.problems.append(ConfigProblem(path, f'{error} (want a duration such as "15s")'))
            return Duration()

    def _bytes(self, text: str, path: str) -> bytes:
        try:
            return base64.b64decode(text.replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            self.problems.append(ConfigProblem(path, "illegal base64 data (want text in base64)"))
            return b""

    def _wrong_type(
        self, value: Any, annotation: Any, path: str, field: str, meta: msgspec.Meta | None = None
    ) -> Any:
        go_type, wanted = _described(annotation, meta)
        got = _json_type(value, wanted=annotation)
        where = f"Go struct field {field}" if field else "Go value"
        message = f"json: cannot unmarshal {got} into {where} of type {go_type} (want {wanted})"
        self.problems.append(ConfigProblem(path, message))
        return _zero(annotation)


@cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, tuple[str, Any]]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {info.encode_name: (info.name, hints[info.name]) for info in msgspec.structs.fields(kind)}


@cache
def _required(kind: type[msgspec.Struct]) -> frozenset[str]:
    return frozenset(info.name for info in msgspec.structs.fields(kind) if info.required)


def _without_wrapping(annotation: Any) -> tuple[Any, msgspec.Meta | None]:
    """The type inside `| None` and `Annotated`, and the range it was annotated with."""
    meta = None
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        annotation = next(arg for arg in typing.get_args(annotation) if arg is not type(None))
    if typing.get_origin(annotation) is typing.Annotated:
        annotation, meta = typing.get_args(annotation)
    return annotation, meta


def _zero(annotation: Any) -> Any:
    """What Go puts where nothing is given."""
    annotation, _ = _without_wrapping(annotation)
    origin = typing.get_origin(annotation) or annotation
    if isinstance(origin, type) and issubclass(origin, msgspec.Struct):
        return origin(
            **{name: _zero(kind) for name, kind in _fields(origin).values() if name in _required(origin)}
        )
    return origin()


def _in_range(value: Any, meta: msgspec.Meta | None) -> bool:
    if type(value) is not int:
        return True
    low, high = (meta.ge, meta.le) if meta else (-(2**63), 2**63 - 1)
    return low is not None and high is not None and low <= value <= high


def _go_name(kind: type) -> str:
    return getattr(kind, "go_type", "") or f"v1.{kind.__name__}"


def _described(annotation: Any, meta: msgspec.Meta | None) -> tuple[str, str]:
    """A type's name in Go and in words."""
    annotation, own = _without_wrapping(annotation)
    meta = meta or own
    origin = typing.get_origin(annotation)
    if origin in (list, tuple):
        return f"[]{_described(typing.get_args(annotation)[0], None)[0]}", "a list"
    if origin is dict:
        return f"map[string]{_described(typing.get_args(annotation)[1], None)[0]}", "a mapping"
    if annotation in _SCALARS:
        go_type, wanted = _SCALARS[annotation]
        if meta and meta.le == 2**31 - 1:
            return "int32", "a whole number between -2147483648 and 2147483647"
        return go_type, wanted
    return _go_name(annotation), "a mapping"


def _json_type(value: Any, wanted: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        # Go says which number only where a number would have been right.
        return f"number {shown(value)}" if wanted in (int, float) else "number"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "null"
    return "array" if isinstance(value, list) else "object"
