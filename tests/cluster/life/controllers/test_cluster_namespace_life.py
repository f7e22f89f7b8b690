from __future__ import annotations

import asyncio

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from tests.cluster.life.controllers.worlds import World, in_world


def test_a_namespace_has_an_account_and_the_certificates() -> None:
    async def test(world: World) -> None:
        world.writer.create("namespaces", {"metadata": {"name": "team"}})
        await asyncio.sleep(0.1)
        assert world.writer.names("serviceaccounts", "team") == ["default"]
        assert world.writer.document("configmaps", "team", "kube-root-ca.crt")["data"] == {"ca.crt": "CA"}
        world.writer.end("serviceaccounts", "team", "default")
        world.writer.end("configmaps", "team", "kube-root-ca.crt")
        await asyncio.sleep(0.1)
        assert world.writer.names("serviceaccounts", "team") == ["default"]
        world.writer.edit("configmaps", "team", "kube-root-ca.crt", lambda each: each.update(data={}))
        await asyncio.sleep(0.1)
        assert world.writer.document("configmaps", "team", "kube-root-ca.crt")["data"] == {"ca.crt": "CA"}

    in_world(test)


def test_a_deleted_namespace_goes_after_all_that_is_in_it() -> None:
    async def test(world: World) -> None:
        world.writer.create("namespaces", {"metadata": {"name": "team"}})
        world.writer.create("namespaces", {"metadata": {"name": "other"}})
        spec = {"nodeName": "n"}
        world.writer.create("pods", {"metadata": {"name": "p", "namespace": "team"}, "spec": dict(spec)})
        world.writer.create("pods", {"metadata": {"name": "p", "namespace": "other"}, "spec": dict(spec)})
        metadata = {"name": "held", "namespace": "team", "finalizers": ["example.com/wait"]}
        world.writer.create("things.example.com", {"metadata": metadata})
        await asyncio.sleep(1)
        world.writer.end("namespaces", "", "team")
        await asyncio.sleep(3)
        assert world.writer.document("namespaces", "", "team")["status"]["phase"] == "Terminating"
        assert world.writer.names("pods") == ["p"]
        assert world.writer.names("serviceaccounts", "team") == []
        world.writer.edit(
            "things.example.com", "team", "held", lambda each: each["metadata"].pop("finalizers")
        )
        await asyncio.sleep(1)
        assert world.writer.names("namespaces") == ["other"]
        assert world.writer.names("serviceaccounts", "other") == ["default"]

    in_world(test)


def conditions(world: World) -> dict[str, tuple[str, str, str]]:
    """Of the namespace `team`: status, reason and message of each."""
    found = world.writer.document("namespaces", "", "team")["status"]["conditions"]
    return {each["type"]: (each["status"], each["reason"], each["message"]) for each in found}


FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "False",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


def test_pods_go_first_and_conditions_say_what_is_waited_for() -> None:
    async def test(world: World) -> None:
        world.writer.create("namespaces", {"metadata": {"name": "team"}})
        for name in ("a", "b"):
            metadata = {"name": name, "namespace": "team", "finalizers": ["example.com/wait"]}
            world.writer.create("pods", {"metadata": metadata, "spec": {"nodeName": "n"}})
        for name in ("c", "d"):
            metadata = {"name": name, "namespace": "team", "finalizers": ["example.com/other"]}
            world.writer.create("things.example.com", {"metadata": metadata})
        await asyncio.sleep(1)
        world.writer.end("namespaces", "", "team")
        await asyncio.sleep(60)
        assert conditions(world) == FINE | {
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: pods. has 2 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: "
                "example.com/wait in 2 resource instances",
            ),
        }
        assert world.writer.names("serviceaccounts", "team") == ["default"]
        for name in ("a", "b"):
            world.writer.edit("pods", "team", name, lambda each: each["metadata"].pop("finalizers"))
        await asyncio.sleep(3)
        assert world.writer.names("serviceaccounts", "team") == []
        assert conditions(world) == FINE | {
            "NamespaceContentRemaining": (
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining: things.example.com has 2 resource instances",
            ),
            "NamespaceFinalizersRemaining": (
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: "
                "example.com/other in 2 resource instances",
            ),
        }
        revision = world.store.revision
        await asyncio.sleep(60)
        assert world.store.revision == revision, "nothing is written while nothing changes"
        world.writer.edit("things.example.com", "team", "c", lambda each: each["metadata"].pop("finalizers"))
        world.writer.edit("things.example.com", "team", "d", lambda each: each["metadata"].pop("finalizers"))
        last = []
        world.store.listen("namespaces", lambda change: last.append(change.new.document))
        await asyncio.sleep(3)
        assert world.writer.names("namespaces") == []
        assert {each["status"] for each in last[-1]["status"]["conditions"]} == {"False"}

    in_world(test)


def test_pods_that_do_not_end_in_time_are_named() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        world.writer.create("namespaces", {"metadata": {"name": "team"}})
        spec = {"nodeName": "lost", "terminationGracePeriodSeconds": 30}
        world.writer.create("pods", {"metadata": {"name": "p", "namespace": "team"}, "spec": spec})
        await asyncio.sleep(1)
        world.writer.end("namespaces", "", "team")
        await asyncio.sleep(28)
        assert conditions(world)["NamespaceDeletionContentFailure"] == FINE["NamespaceDeletionContentFailure"]
        await asyncio.sleep(5)
        assert conditions(world)["NamespaceDeletionContentFailure"] == (
            "True",
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: "
            "unexpected items still remain in namespace: team for gvr: /v1, Resource=pods",
        )

    in_world(test)


def test_nobody_works_against_the_end_of_a_namespace(caplog: pytest.LogCaptureFixture) -> None:
    async def test(world: World) -> None:
        def refuse(resource: str, document: Document) -> Refusal | None:
            namespace = world.store.get("namespaces", "", document["metadata"].get("namespace", ""))
            if namespace is None or "deletionTimestamp" not in namespace.document["metadata"]:
                return None
            return Refusal(403, "Forbidden", "unable to create new content")

        world.writer.create("namespaces", {"metadata": {"name": "default"}})
        world.deployment(replicas=5)
        await asyncio.sleep(3)
        world.writer.refuse = refuse
        world.writer.end("namespaces", "", "default")
        await asyncio.sleep(5)
        assert world.writer.names("namespaces") == []
        assert world.writer.names("pods") == []

    in_world(test)
    assert caplog.text == ""


def test_claims_stay_while_a_pod_uses_them() -> None:
    async def test(world: World) -> None:
        world.kubelet = False
        claim = {"name": "data", "namespace": "default", "finalizers": ["kubernetes.io/pvc-protection"]}
        world.writer.create("persistentvolumeclaims", {"metadata": claim})
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]
        pod = {
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"nodeName": "n", "volumes": volumes},
        }
        world.writer.create("pods", pod)
        world.writer.end("persistentvolumeclaims", "default", "data")
        await asyncio.sleep(1)
        assert world.writer.names("persistentvolumeclaims") == ["data"]
        stored = world.store.get("pods", "default", "p")
        assert stored is not None
        world.writer.delete("pods", stored, grace_seconds=0)
        await asyncio.sleep(1)
        assert world.writer.names("persistentvolumeclaims") == []

    in_world(test)
