"""Which groups, versions and resources there are, in the old form and in the aggregated one."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from hashlib import sha256

from moorage.cluster.access.requests import Answer
from moorage.cluster.base.errors import path_not_found
from moorage.cluster.base.store import Document
from moorage.cluster.schema.definitions import Definition, Definitions, version_order
from moorage.cluster.serving.aggregation import Aggregation
from moorage.cluster.serving.rendering import encode

VERSION = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.4",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}
"""The release whose API is served."""

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Discovery:
    def __init__(self, definitions: Definitions, aggregation: Aggregation) -> None:
        self._definitions = definitions
        self._aggregation = aggregation
        self._known: tuple[int, dict[str, list[str]]] = (-1, {})
        self._aggregated: dict[bool, bytes] = {}

    def answer(self, path: str, accept: str) -> Answer:
        """What is at /api, /apis and below, down to a group's version."""
        match path.strip("/").split("/"):
            case ["api" | "apis" as root]:
                return self._root(root == "api", accept)
            case ["apis", group]:
                return self._group(group)
            case ["api", version]:
                return self._resources("", version)
            case ["apis", group, version]:
                return self._resources(group, version)
        raise path_not_found()

    def _root(self, core: bool, accept: str) -> Answer:
        if "g=apidiscovery.k8s.io" in accept and "v=v2;" in accept.replace(" ", "") + ";":
            return Answer(200, self._aggregate(core), _AGGREGATED)
        if core:
            return _json({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []})
        groups = [_group(name, versions) for name, versions in self._versions().items() if name]
        return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})

    def _group(self, name: str) -> Answer:
        versions = self._versions().get(name)
        if not versions or not name:
            raise path_not_found()
        return _json({"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)})

    def _resources(self, group: str, version: str) -> Answer:
        if answer := self._aggregation.refusal(group, version):
            return answer
        definitions = self._groups().get(group, {}).get(version)
        if not definitions:
            raise path_not_found()
        found = [
            resource
            for definition in definitions
            for resource in _resources(definition, self._definitions.of_storage(definition.storage))
        ]
        name = f"{group}/{version}" if group else version
        head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": name}
        return _json({**head, "resources": found})

    def _versions(self) -> dict[str, list[str]]:
        """Those of all groups, also of those that others are to answer for."""
        found = {name: list(versions) for name, versions in self._groups().items()}
        for name, versions in self._aggregation.groups().items():
            found.setdefault(name, []).extend(versions)
        return found

    def _groups(self) -> dict[str, dict[str, list[Definition]]]:
        groups: dict[str, dict[str, list[Definition]]] = {}
        for definition in self._definitions:
            versions = groups.setdefault(definition.group, {})
            versions.setdefault(definition.version, []).append(definition)
        return {
            group: dict(sorted(versions.items(), key=lambda pair: version_order(pair[0])))
            for group, versions in groups.items()
        }

    def _aggregate(self, core: bool) -> bytes:
        foreign = self._aggregation.groups()
        known = self._definitions.generation, foreign
        if self._known != known:
            self._known, self._aggregated = known, {}
        if core not in self._aggregated:
            groups = [(name, versions) for name, versions in self._groups().items() if core == (name == "")]
            head = {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}}
            items = [_aggregated_group(*each) for each in groups]
            for name, versions in () if core else foreign.items():
                stale = [{"version": version, "freshness": "Stale"} for version in versions]
                items.append({"metadata": {"name": name, "creationTimestamp": None}, "versions": stale})
            self._aggregated[core] = encode({**head, "items": items})
        return self._aggregated[core]


def _json(document: Document) -> Answer:
    return Answer(200, encode(document))


def _group(name: str, versions: Iterable[str]) -> Document:
    named = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": named, "preferredVersion": named[0]}


def _resources(definition: Definition, stored: Definition | None) -> list[Document]:
    """A resource and its parts as APIResources; `stored` is its form in the store."""
    main: Document = {
        "name": definition.plural,
        "singularName": definition.singular,
        "namespaced": definition.namespaced,
        "kind": definition.kind,
        "verbs": list(definition.verbs),
    }
    found = [main | _more_names(definition)]
    if stored is not None and "list" in definition.verbs:
        found[0]["storageVersionHash"] = _storage_hash(stored)
    for part in definition.subresources.values():
        own = {"name": f"{definition.plural}/{part.name}", "singularName": "", "verbs": list(part.verbs)}
        resource = main | own | {"kind": part.kind or definition.kind}
        if part.kind and part.version:
            resource |= {"group": part.group} if part.group else {}
            resource["version"] = part.version
        found.append(resource)
    return found


def _storage_hash(stored: Definition) -> str:
    """Tells clients that keep objects whether the form in which they are stored has changed."""
    named = f"{stored.group}/{stored.version}/{stored.kind}"
    return base64.b64encode(sha256(named.encode()).digest()[:8]).decode()


def _more_names(definition: Definition) -> Document:
    names = {"shortNames": list(definition.short_names), "categories": list(definition.categories)}
    return {name: found for name, found in names.items() if found}


def _aggregated_group(name: str, versions: dict[str, list[Definition]]) -> Document:
    listed = [
        {"version": version, "resources": list(map(_aggregated, definitions)), "freshness": "Current"}
        for version, definitions in versions.items()
    ]
    named = {"name": name} if name else {}
    return {"metadata": {**named, "creationTimestamp": None}, "versions": listed}


def _aggregated(definition: Definition) -> Document:
    own = (definition.group, definition.version)
    parts = [
        {
            "subresource": part.name,
            "responseKind": _kind(
                *((part.group, part.version) if part.version else own), part.kind or definition.kind
            ),
            "verbs": list(part.verbs),
        }
        for part in definition.subresources.values()
    ]
    return {
        "resource": definition.plural,
        "responseKind": _kind(*own, definition.kind),
        "scope": "Namespaced" if definition.namespaced else "Cluster",
        "singularResource": definition.singular,
        "verbs": list(definition.verbs),
        **_more_names(definition),
        **({"subresources": parts} if parts else {}),
    }


def _kind(group: str, version: str, kind: str) -> Document:
    return {"group": group, "version": version, "kind": kind}
