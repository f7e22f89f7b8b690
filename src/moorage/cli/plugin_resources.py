"""Having the embedded cluster serve the custom resources of its plugins."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from moorage.api.custom_resources.definitions import (
    DefinitionError,
    custom_resource_definition,
    is_protected,
)
from moorage.api.meta import Object
from moorage.cli.setup import Setup
from moorage.client.errors import ApiError, NotFound
from moorage.client.http import HttpClient
from moorage.client.resources import Resource
from moorage.cluster.custom.definitions import CrdStrategy
from moorage.contrib.features import Feature, of_plugins
from moorage.framework.loading.registry import place_of

MARK = "moorage/applied-generation"
"""The annotation of what was applied here: the generation that the definition got by it.

Whoever changes the definition later makes it another generation.
"""

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_UNAPPROVED = "unapproved, for a cluster on this machine"
_DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False, Object
)


class Outcome(NamedTuple):
    """The names of the definitions that were created or changed, and a line for each that could not be."""

    applied: list[str]
    notes: list[str]


def kinds_of(setup: Setup, features: Iterable[Feature] = ()) -> list[type[Object]]:
    """The classes of custom resources that the modules of the enabled plugins define or import.

    And those that the features need, whether or not their plugins are enabled.
    """
    enabled = {name for profile in setup.config.profiles for name in profile.plugins.enabled_names()}
    wanted = (kind for feature in (*features, *of_plugins(enabled)) for kind in feature.kinds)
    found: dict[str, type[Object]] = {str(Resource.of(kind)): kind for kind in wanted}
    for entry in setup.registry:
        if entry.name in enabled:
            for kind in _kinds_in(sys.modules.get(entry.load().__module__)):
                found.setdefault(str(Resource.of(kind)), kind)
    return list(found.values())


async def apply_definitions(http: HttpClient, kinds: Iterable[type[Object]]) -> Outcome:
    """Creates the definitions of these classes, and changes those that were created here before."""
    outcome = Outcome([], [])
    for kind in kinds:
        name = str(Resource.of(kind))
        try:
            if await _apply(http, kind, name):
                outcome.applied.append(name)
        except _LeftAlone:
            place = place_of(kind)
            outcome.notes.append(
                f"{name}: is defined otherwise than by {place}, and not by this command; it is left as it is"
                f" (moorage crd {place} | kubectl apply -f - replaces it)"
            )
        except (ApiError, DefinitionError) as error:
            outcome.notes.append(f"{name}: not applied: {' '.join(str(error).split())}")
    return outcome


class _LeftAlone(Exception):
    """Somebody else has applied another definition."""


async def _apply(http: HttpClient, kind: type[Object], name: str) -> bool:
    """Whether something had to be written."""
    try:
        current = (await http.get(_DEFINITIONS, name)).raw
    except NotFound:
        if await _is_built_in(http, Resource.of(kind)):
            return False
        await http.create(_DEFINITIONS, _marked(_definition(kind), 1))
        return True
    wanted = _definition(kind)
    if current["spec"] == _with_defaults(wanted)["spec"]:
        return False
    metadata = current["metadata"]
    annotations = metadata.get("annotations") or {}
    if annotations.get(MARK) != str(metadata["generation"]) or _LAST_APPLIED in annotations:
        raise _LeftAlone
    await http.update(_DEFINITIONS, _marked({**current, "spec": wanted["spec"]}, metadata["generation"] + 1))
    return True


async def _is_built_in(http: HttpClient, resource: Resource[Any]) -> bool:
    """Whether it is served without a definition: a plugin may have a type of its own for any kind."""
    try:
        found = await http.request_json("GET", resource.root)
    except NotFound:
        return False
    return any(each["name"] == resource.plural for each in found["resources"])


def _definition(kind: type[Object]) -> dict[str, Any]:
    needs_approval = is_protected(kind.group) and not kind.api_approved
    return custom_resource_definition(kind, api_approved=_UNAPPROVED if needs_approval else "")


def _marked(definition: dict[str, Any], generation: int) -> dict[str, Any]:
    metadata = definition["metadata"]
    annotations = {**(metadata.get("annotations") or {}), MARK: str(generation)}
    return {**definition, "metadata": {**metadata, "annotations": annotations}}


def _with_defaults(definition: dict[str, Any]) -> dict[str, Any]:
    """As the embedded API server keeps it."""
    document = deepcopy(definition)
    CrdStrategy().default(document)
    return document


def _kinds_in(module: ModuleType | None) -> Iterator[type[Object]]:
    if module is None or module.__name__.startswith("moorage."):
        return
    for value in tuple(vars(module).values()):
        if isinstance(value, ModuleType) and _is_beside(value, module):
            yield from filter(_is_custom, vars(value).values())
        elif _is_custom(value):
            yield value


def _is_custom(value: object) -> bool:
    return (
        isinstance(value, type)
        and issubclass(value, Object)
        and not value.__module__.startswith("moorage.")
        and all((value.group, value.version, value.resource, value.kind))
    )


def _is_beside(other: ModuleType, module: ModuleType) -> bool:
    """Whether a module belongs to the same plugin: a file in the same folder."""
    files = [getattr(each, "__file__", None) for each in (other, module)]
    return None not in files and len({Path(str(file)).resolve().parent for file in files}) == 1
