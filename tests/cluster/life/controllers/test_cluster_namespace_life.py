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
        assert world.writer.document("namespaces", "", "team")["status"] == {"phase": "Terminating"}
        assert world.writer.names("pods") == ["p"]
        assert world.writer.names("serviceaccounts", "team") == []
        world.writer.edit(
            "things.example.com", "team", "held", lambda each: each["metadata"].pop("finalizers")
        )
        await asyncio.sleep(1)
        assert world.writer.names("namespaces") == ["other"]
        assert world.writer.names("serviceaccounts", "other") == ["default"]

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
