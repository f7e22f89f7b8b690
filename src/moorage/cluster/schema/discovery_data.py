"""The built-in resources, as a real API server lists them in its discovery."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from moorage.cluster.schema.builtin import DATA, schema_of
from moorage.cluster.schema.definitions import Definition, Strategy, Subresource

_LEFT_OUT = {"componentstatuses", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
# These need a kubelet that containers can be reached through, or change containers that are running.
_LEFT_OUT_PARTS = {"attach", "ephemeralcontainers", "exec", "portforward", "proxy", "resize"}

_SAME_OBJECTS = {"events.events.k8s.io": "events"}


def builtin_definitions(
    strategies: Mapping[str, Strategy], gates: frozenset[str] = frozenset()
) -> list[Definition]:
    """The definitions of all built-in resources, in the order of their groups.

    Those of alpha features are among them whose gates are on. Strategies are found by the name under which
    objects are stored; a resource without one gets a plain one.
    """
    found = []
    for head, resources in (*_blocks("resources.txt"), *_blocks("resources_behind_gates.txt")):
        *gate, group, version = head.split()
        if gates.issuperset(gate):
            found += [
                _definition("" if group == "core" else group, version, each, strategies) for each in resources
            ]
    return [definition for definition in found if definition.plural not in _LEFT_OUT]


def _blocks(file: str) -> Iterator[tuple[str, list[str]]]:
    """The head of each version of a group, `gate group version` or `group version`, and its resources."""
    for block in re.split(r"\n(?=\S)", (DATA / file).read_text().rstrip()):
        head, *resources = re.split(r"\n (?=\S)", block)
        yield head, resources


def _definition(group: str, version: str, resource: str, strategies: Mapping[str, Strategy]) -> Definition:
    """Reads the line of a resource and the lines of its subresources."""
    words, *parts = (line.split() for line in resource.split("\n"))
    plural, kind, singular, scope, verbs, *more = words
    options = dict(word.split("=") for word in more)
    name = f"{plural}.{group}" if group else plural
    storage = _SAME_OBJECTS.get(name, name)
    return Definition(
        group,
        version,
        plural,
        kind,
        scope == "namespaced",
        schema_of(group, version, kind),
        storage=storage,
        singular=singular,
        short_names=_split(options.get("short", "")),
        categories=_split(options.get("categories", "")),
        verbs=_split(verbs),
        subresources={part[0]: _subresource(part, kind) for part in parts if part[0] not in _LEFT_OUT_PARTS},
        strategy=strategies.get(f"{name}/{version}")
        or strategies.get(name)
        or strategies.get(storage)
        or Strategy(),
    )


def _subresource(words: list[str], parent: str) -> Subresource:
    name, type_name, verbs = words
    *place, kind = type_name.split("/")
    group, version = place or ("", "")
    return Subresource(name, _split(verbs), "" if kind == parent else kind, group, version)


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()
