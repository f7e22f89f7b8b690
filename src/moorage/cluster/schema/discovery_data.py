"""The built-in resources, as a real API server lists them in its discovery."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from moorage.cluster.schema.builtin import DATA, schema_of
from moorage.cluster.schema.definitions import Definition, Strategy, Subresource

_LEFT_OUT = {"componentstatuses"}
# These need a kubelet that containers can be reached through, or change containers that are running.
_LEFT_OUT_PARTS = {"attach", "ephemeralcontainers", "exec", "portforward", "proxy", "resize"}

_SAME_OBJECTS = {"events.events.k8s.io": "events"}


@dataclass
class _Recorded:
    """A resource of the recorded table: its words, and those of its subresources."""

    group: str
    version: str
    words: list[str]
    parts: list[list[str]] = field(default_factory=list)


def builtin_definitions(strategies: Mapping[str, Strategy]) -> list[Definition]:
    """The definitions of all built-in resources, in the order of their groups.

    Strategies are found by the name under which objects are stored; a resource without one gets a plain one.
    """
    return [
        _definition(recorded, strategies) for recorded in _recorded() if recorded.words[0] not in _LEFT_OUT
    ]


def _recorded() -> Iterator[_Recorded]:
    group = version = ""
    current: _Recorded | None = None
    for line in (DATA / "resources.txt").read_text().splitlines():
        if line.startswith("  ") and current is not None:
            current.parts.append(line.split())
            continue
        if current is not None:
            yield current
            current = None
        if line.startswith(" "):
            current = _Recorded(group, version, line.split())
        else:
            group, version = line.split()
            group = "" if group == "core" else group
    if current is not None:
        yield current


def _definition(recorded: _Recorded, strategies: Mapping[str, Strategy]) -> Definition:
    plural, kind, singular, scope, verbs, *more = recorded.words
    options = dict(word.split("=") for word in more)
    name = f"{plural}.{recorded.group}" if recorded.group else plural
    storage = _SAME_OBJECTS.get(name, name)
    return Definition(
        recorded.group,
        recorded.version,
        plural,
        kind,
        scope == "namespaced",
        schema_of(recorded.group, recorded.version, kind),
        storage=storage,
        singular=singular,
        short_names=_split(options.get("short", "")),
        categories=_split(options.get("categories", "")),
        verbs=_split(verbs),
        subresources={
            part[0]: _subresource(part, kind) for part in recorded.parts if part[0] not in _LEFT_OUT_PARTS
        },
        strategy=strategies.get(name) or strategies.get(storage) or Strategy(),
    )


def _subresource(words: list[str], parent: str) -> Subresource:
    name, type_name, verbs = words
    *place, kind = type_name.split("/")
    group, version = place or ("", "")
    return Subresource(name, _split(verbs), "" if kind == parent else kind, group, version)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
