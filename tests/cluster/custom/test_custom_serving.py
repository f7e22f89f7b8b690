"""Conditions and names are those a real API server (v1.36.4) gives."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Store, Stored
from moorage.cluster.custom.definitions import CrdStrategy
from moorage.cluster.custom.serving import CRDS, CustomResources, terminating
from moorage.cluster.schema.definitions import Definition, Definitions
from moorage.cluster.schema.model import Schema

Document = dict[str, Any]
GROUP = "shop.example.com"
NOW = "2026-01-02T03:04:05Z"
SECONDS = 1767323045.0


class Cluster:
    """A store and what it serves, without a server around it."""

    def __init__(self) -> None:
        self.store = Store()
        self.definitions = Definitions()
        self.calls = 0
        self.custom = CustomResources(self.definitions, self.store, clock=lambda: SECONDS, wake=self._wake)
        self.custom.start()

    def _wake(self) -> None:
        self.calls += 1

    def create(self, crd: Document) -> Stored:
        strategy = CrdStrategy()
        strategy.default(crd)
        strategy.prepare_create(crd)
        return self.store.create(CRDS, "", crd["metadata"]["name"], crd)

    def change(self, name: str, **spec: Any) -> None:
        old = self.crd(name)
        new = {**old.document, "spec": {**old.document["spec"], **spec}}
        CrdStrategy().prepare_update(new, old.document)
        self.store.update(CRDS, old, new)

    def delete(self, name: str) -> None:
        old = self.crd(name)
        self.store.update(CRDS, old, terminating(old.document, NOW))

    def crd(self, name: str) -> Stored:
        found = self.store.get(CRDS, "", f"{name}.{GROUP}")
        assert found is not None
        return found

    def status(self, name: str) -> Document:
        found: Document = self.crd(name).document["status"]
        return found

    def find(self, plural: str, version: str = "v1") -> Definition | None:
        return self.definitions.find(GROUP, version, plural)

    def put(self, plural: str, name: str, **metadata: Any) -> Stored:
        document = {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name, **metadata}}
        return self.store.create(f"{plural}.{GROUP}", "", name, document)


def version(name: str = "v1", **parts: Any) -> Document:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **parts}


def crd(plural: str = "things", kind: str = "Thing", *versions: Document, **names: Any) -> Document:
    return {
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, **names},
            "versions": list(versions) or [version()],
        },
    }


def condition(kind: str, status: str, reason: str, message: str) -> Document:
    return {
        "type": kind, "status": status, "lastTransitionTime": NOW, "reason": reason, "message": message,
    }  # fmt: skip


ACCEPTED = condition("NamesAccepted", "True", "NoConflicts", "no conflicts found")
ESTABLISHED = condition("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")


def test_a_definition_is_served_as_soon_as_it_is_stored() -> None:
    cluster = Cluster()
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    parts = version(subresources={"status": {}, "scale": scale})
    cluster.create(crd("things", "Thing", parts, shortNames=["th"], categories=["all"]))
    found = cluster.find("things")

    assert found is not None and found.custom and found.namespaced
    assert (found.kind, found.singular, found.list_kind) == ("Thing", "thing", "ThingList")
    assert (found.short_names, found.categories) == (("th",), ("all",))
    assert found.storage == f"things.{GROUP}"
    assert list(found.verbs) == [
        "delete", "deletecollection", "get", "list", "patch", "create", "update", "watch",
    ]  # fmt: skip
    assert set(found.subresources) == {"status", "scale"}
    assert found.subresources["scale"].kind == "Scale"
    assert "metadata" in found.schema.fields
    assert cluster.calls == 1


def test_its_status_says_so() -> None:
    cluster = Cluster()
    cluster.create(crd(shortNames=["th", "tt"], categories=["all"]))
    cluster.custom.settle()

    assert cluster.status("things") == {
        "conditions": [ACCEPTED, ESTABLISHED],
        "acceptedNames": {
            "plural": "things",
            "singular": "thing",
            "shortNames": ["th", "tt"],
            "kind": "Thing",
            "listKind": "ThingList",
            "categories": ["all"],
        },
        "storedVersions": ["v1"],
    }
    revision = cluster.store.revision
    cluster.custom.settle()
    assert cluster.store.revision == revision


def test_a_group_of_the_community_is_approved() -> None:
    cluster = Cluster()
    document = crd()
    url = "https://github.com/kubernetes/kubernetes/pull/78458"
    document["spec"]["group"] = "shop.k8s.io"
    document["metadata"] = {"name": "things.shop.k8s.io", "annotations": {"api-approved.kubernetes.io": url}}
    cluster.create(document)
    cluster.custom.settle()
    stored = cluster.store.get(CRDS, "", "things.shop.k8s.io")

    assert stored is not None
    kind = "KubernetesAPIApprovalPolicyConformant"
    approved = condition(kind, "True", "ApprovedAnnotation", f"approved in {url}")
    assert stored.document["status"]["conditions"] == [ACCEPTED, ESTABLISHED, approved]


def test_names_that_are_taken_are_not_given_again_until_they_are_free() -> None:
    cluster = Cluster()
    cluster.create(crd(shortNames=["th", "tt"]))
    cluster.create(crd("others", "Thing", singular="thing", shortNames=["th", "oo", "things"]))
    cluster.custom.settle()

    assert cluster.find("others") is None
    assert cluster.status("others") == {
        "conditions": [
            condition("NamesAccepted", "False", "ListKindConflict", '"ThingList" is already in use'),
            condition("Established", "False", "NotAccepted", "not all names are accepted"),
        ],
        "acceptedNames": {"plural": "others", "kind": ""},
        "storedVersions": ["v1"],
    }

    cluster.delete("things")
    cluster.custom.settle()

    assert cluster.find("things") is None
    assert cluster.find("others") is not None
    assert cluster.status("others")["conditions"] == [ACCEPTED, ESTABLISHED]
    assert cluster.status("others")["acceptedNames"]["shortNames"] == ["th", "oo", "things"]


def test_names_of_another_group_do_not_matter() -> None:
    cluster = Cluster()
    cluster.create(crd())
    other = crd()
    other["spec"]["group"] = "other.example.com"
    other["metadata"]["name"] = "things.other.example.com"
    cluster.create(other)

    assert cluster.definitions.find("other.example.com", "v1", "things") is not None


def test_all_versions_that_are_served_are_the_same_objects() -> None:
    cluster = Cluster()
    old = version("v1", storage=False)
    cluster.create(crd("things", "Thing", old, version("v2"), version("v3", storage=False, served=False)))
    first, second = cluster.find("things", "v1"), cluster.find("things", "v2")

    assert first is not None and second is not None
    assert first.storage == second.storage
    assert cluster.definitions.of_storage(first.storage) is second
    assert cluster.find("things", "v3") is None


def test_a_change_of_the_definition_counts_at_once() -> None:
    cluster = Cluster()
    cluster.create(crd())
    cluster.custom.settle()
    cluster.change("things", versions=[version("v1", storage=False, served=False), version("v2")])

    assert cluster.find("things", "v1") is None
    assert cluster.find("things", "v2") is not None
    assert cluster.status("things")["storedVersions"] == ["v1", "v2"]


def test_a_change_of_its_status_alone_leaves_it_served_as_it_was() -> None:
    cluster = Cluster()
    cluster.create(crd())
    found, generation = cluster.find("things"), cluster.definitions.generation
    cluster.custom.settle()

    assert cluster.find("things") is found
    assert cluster.definitions.generation == generation


def test_deleting_it_twice_is_the_same_as_once() -> None:
    once = terminating(crd(), NOW)

    assert terminating(once, "2030-01-01T00:00:00Z") == once


def test_deleting_a_definition_deletes_its_objects() -> None:
    cluster = Cluster()
    cluster.create(crd())
    cluster.custom.settle()
    cluster.put("things", "a")
    cluster.delete("things")

    marked = cluster.crd("things").document
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert marked["status"]["conditions"][-1] == condition(
        "Terminating",
        "True",
        "InstanceDeletionPending",
        "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )
    cluster.custom.settle()

    assert cluster.store.count(f"things.{GROUP}") == 0
    assert cluster.store.count(CRDS) == 0
    assert cluster.find("things") is None


def test_it_waits_for_objects_with_finalizers() -> None:
    cluster = Cluster()
    cluster.create(crd())
    cluster.custom.settle()
    cluster.put("things", "a", finalizers=["x.y/z"], generation=1)
    cluster.delete("things")
    cluster.custom.settle()

    waiting = cluster.store.get(f"things.{GROUP}", "", "a")
    assert waiting is not None
    assert waiting.document["metadata"]["deletionTimestamp"] == NOW
    assert waiting.document["metadata"]["generation"] == 2
    assert cluster.status("things")["conditions"][-1] == condition(
        "Terminating", "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
    )
    assert cluster.find("things") is not None

    calls = cluster.calls
    cluster.store.delete(f"things.{GROUP}", waiting)
    assert cluster.calls == calls + 1
    cluster.custom.settle()
    assert cluster.store.count(CRDS) == 0
    assert cluster.find("things") is None


def test_a_definition_cannot_take_the_place_of_what_is_built_in() -> None:
    cluster = Cluster()
    own = Definition(GROUP, "v1", "things", "Thing", False, Schema())
    cluster.definitions.add(own)
    cluster.put("things", "a")
    cluster.create(crd())
    cluster.custom.settle()
    assert cluster.find("things") is own

    cluster.delete("things")
    cluster.custom.settle()
    assert cluster.store.count(CRDS) == 0
    assert cluster.store.count(f"things.{GROUP}") == 1
    assert cluster.find("things") is own


def test_after_a_restart_all_is_served_again() -> None:
    cluster = Cluster()
    cluster.create(crd())
    cluster.create(crd("others", "Thing"))
    cluster.custom.settle()
    definitions = Definitions()
    again = CustomResources(definitions, cluster.store, clock=lambda: SECONDS)
    again.start()

    assert definitions.find(GROUP, "v1", "things") is not None
    assert definitions.find(GROUP, "v1", "others") is None
