from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from moorage.cluster.base.store import Document, Store
from moorage.cluster.life.nodes.claimed_folders import ClaimedFolders
from moorage.cluster.life.nodes.environment import (
    Unavailable,
    base_environment,
    container_environment,
    expand,
)
from moorage.cluster.life.nodes.programs import Programs, command_line
from moorage.cluster.life.nodes.volumes import Mount, Volumes, referenced, relocate

NODE: Document = {"metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi"}}}


def pod(*volumes: Document, **metadata: Any) -> Document:
    return {
        "metadata": {"name": "p", "namespace": "default", "uid": "u", "labels": {"app": "x"}, **metadata},
        "spec": {"volumes": list(volumes), "serviceAccountName": "robot", "nodeName": "n"},
        "status": {"podIP": "10.1.2.3"},
    }


@pytest.fixture
def store() -> Store:
    store = Store()
    config = {"kind": "ConfigMap", "metadata": {}, "data": {"a.yaml": "a: 1", "b": "B"}}
    secret = {"kind": "Secret", "metadata": {}, "data": {"key": base64.b64encode(b"\0s").decode()}}
    store.create("configmaps", "default", "config", config)
    store.create("configmaps", "default", "kube-root-ca.crt", {"metadata": {}, "data": {"ca.crt": "CA"}})
    store.create("secrets", "default", "secret", secret)
    return store


@pytest.fixture
def volumes(store: Store, tmp_path: Path) -> Volumes:
    return Volumes(
        tmp_path / "pod", store, lambda *who: "/".join(who), ClaimedFolders(tmp_path / "claimed", store)
    )


def content(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for name in folder.iterdir()
        if not name.name.startswith("..")
        for path in (name.rglob("*") if name.is_dir() else [name])
        if path.is_file()
    }


def place(volumes: Volumes, document: Document, name: str, **mount: Any) -> Path:
    container = {"volumeMounts": [{"name": name, "mountPath": "/m", **mount}]}
    [found] = volumes.mounts(document, container, {})
    return found.place


def test_config_maps_and_secrets_become_files(volumes: Volumes) -> None:
    document = pod(
        {"name": "all", "configMap": {"name": "config", "defaultMode": 0o600}},
        {
            "name": "some",
            "configMap": {"name": "config", "items": [{"key": "b", "path": "x/y", "mode": 0o440}]},
        },
        {"name": "secret", "secret": {"secretName": "secret"}},
        {"name": "maybe", "configMap": {"name": "absent", "optional": True}},
    )
    volumes.write(document, NODE)
    assert content(place(volumes, document, "all")) == {"a.yaml": b"a: 1", "b": b"B"}
    assert (place(volumes, document, "all") / "b").stat().st_mode & 0o777 == 0o600
    assert content(place(volumes, document, "some")) == {"x/y": b"B"}
    assert (place(volumes, document, "some") / "x/y").stat().st_mode & 0o777 == 0o440
    assert content(place(volumes, document, "secret")) == {"key": b"\0s"}
    assert content(place(volumes, document, "maybe")) == {}
    assert place(volumes, document, "all", subPath="a.yaml").read_bytes() == b"a: 1"


def test_the_service_account_volume(volumes: Volumes) -> None:
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
    ]
    document = pod({"name": "access", "projected": {"sources": sources}})
    volumes.write(document, NODE)
    folder = place(volumes, document, "access")
    assert content(folder) == {"token": b"default/robot/p/u", "ca.crt": b"CA", "namespace": b"default"}
    assert (folder / "token").stat().st_mode & 0o777 == 0o600


def test_changes_arrive_together_and_what_is_gone_goes(volumes: Volumes, store: Store) -> None:
    document = pod({"name": "v", "configMap": {"name": "config"}})
    volumes.write(document, NODE)
    folder = place(volumes, document, "v")
    before = (folder / "..data").readlink()
    volumes.write(document, NODE)
    assert (folder / "..data").readlink() == before
    stored = store.get("configmaps", "default", "config")
    assert stored is not None
    store.update("configmaps", stored, {**stored.document, "data": {"a.yaml": "a: 2", "c": "C"}})
    volumes.write(document, NODE)
    assert content(folder) == {"a.yaml": b"a: 2", "c": b"C"}
    assert not (folder / before).exists()


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        ({"configMap": {"name": "absent"}}, 'configmap "absent" not found'),
        ({"secret": {"secretName": "absent"}}, 'secret "absent" not found'),
        (
            {"configMap": {"name": "config", "items": [{"key": "zz", "path": "zz"}]}},
            "configmap references non-existent config key: zz",
        ),
        ({"configMap": {"name": "config", "items": [{"key": "b", "path": "../b"}]}}, "invalid path: ../b"),
        ({"configMap": {"name": "config", "items": [{"key": "b", "path": "/b"}]}}, "invalid path: /b"),
    ],
)
def test_what_cannot_be_mounted_says_why(volumes: Volumes, volume: Document, message: str) -> None:
    with pytest.raises(Unavailable) as problem:
        volumes.write(pod({"name": "v", **volume}), NODE)
    assert str(problem.value) == f'MountVolume.SetUp failed for volume "v" : {message}'


def test_host_paths_are_used_only_where_nothing_can_be_written(volumes: Volumes) -> None:
    document = pod({"name": "host", "hostPath": {"path": "/etc/x"}})
    assert place(volumes, document, "host", readOnly=True) == Path("/etc/x")
    container = {"volumeMounts": [{"name": "host", "mountPath": "/etc/x"}]}
    assert volumes.mounts(document, container, {}) == []


def test_nothing_leads_out_of_the_folder(volumes: Volumes, tmp_path: Path) -> None:
    document = pod({"name": "../../../evil", "emptyDir": {}})
    volumes.write(document, NODE)
    assert tmp_path / "pod" in place(volumes, document, "../../../evil").parents
    with pytest.raises(Unavailable):
        place(volumes, document, "../../../evil", subPath="../x")


def test_mount_paths_are_replaced_at_path_boundaries_only() -> None:
    mounts = [
        Mount("/etc/kubernetes", Path("/V/config")),
        Mount("/etc/kubernetes/pki", Path("/V/pki")),
        Mount("/tmp", Path("/V/tmp")),
    ]
    for word, replaced in {
        "--config=/etc/kubernetes/x.yaml": "--config=/V/config/x.yaml",
        "/etc/kubernetes": "/V/config",
        "/etc/kubernetes/pki/ca.crt": "/V/pki/ca.crt",
        "/etc/kubernetes-other/x": "/etc/kubernetes-other/x",
        "x/etc/kubernetes": "x/etc/kubernetes",
        "--a=b=/tmp/c": "--a=b=/V/tmp/c",
    }.items():
        assert relocate(word, mounts, after_equals=True) == replaced
    assert relocate("A=/tmp", mounts, after_equals=False) == "A=/tmp"
    assert relocate("/tmp/x", mounts, after_equals=False) == "/V/tmp/x"


def test_references_of_volumes() -> None:
    document = pod(
        {"name": "a", "configMap": {"name": "c"}},
        {"name": "b", "projected": {"sources": [{"secret": {"name": "s"}}]}},
        {"name": "d", "secret": {"secretName": "t"}},
    )
    assert referenced(document) == {("configmaps", "c"), ("secrets", "s"), ("secrets", "t")}


def test_variables_come_from_everywhere(store: Store) -> None:
    def from_field(path: str) -> Document:
        return {"fieldRef": {"fieldPath": path}}

    container = {
        "resources": {"limits": {"cpu": "1500m"}},
        "envFrom": [
            {"prefix": "C_", "configMapRef": {"name": "config"}},
            {"secretRef": {"name": "gone", "optional": True}},
        ],
        "env": [
            {"name": "PLAIN", "value": "x"},
            {"name": "MADE", "value": "$(PLAIN)-$(HOST)-$$(PLAIN)-$(NOPE)"},
            {"name": "LABEL", "valueFrom": from_field("metadata.labels['app']")},
            {"name": "NODE", "valueFrom": from_field("spec.nodeName")},
            {"name": "IP", "valueFrom": from_field("status.podIP")},
            {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "config", "key": "b"}}},
            {"name": "NONE", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "z", "optional": True}}},
            {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {
                "name": "MEMORY",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}},
            },
        ],
    }
    assert container_environment(pod(), container, NODE, store, {"HOST": "h"}) == {
        "HOST": "h",
        "C_a.yaml": "a: 1",
        "C_b": "B",
        "PLAIN": "x",
        "MADE": "x-h-$(PLAIN)-$(NOPE)",
        "LABEL": "x",
        "NODE": "n",
        "IP": "10.1.2.3",
        "KEY": "B",
        "CPU": "2",
        "MEMORY": "8192",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            {"configMapKeyRef": {"name": "config", "key": "z"}},
            "couldn't find key z in ConfigMap default/config",
        ),
        ({"secretKeyRef": {"name": "gone", "key": "z"}}, 'secret "gone" not found'),
    ],
)
def test_missing_variables_say_what_is_missing(store: Store, source: Document, message: str) -> None:
    with pytest.raises(Unavailable, match=message):
        container_environment(pod(), {"env": [{"name": "X", "valueFrom": source}]}, NODE, store, {})


def test_programs_find_the_server_and_nothing_private(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/me/.kube/config")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    variables = base_environment(("127.0.0.1", 6443), "/home/container", pod())
    assert variables["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
    assert variables["KUBERNETES_SERVICE_PORT"] == "6443"
    assert variables["HOSTNAME"] == "p"
    assert variables["HOME"] == "/home/container"
    assert not {"KUBECONFIG", "AWS_SECRET_ACCESS_KEY"} & variables.keys()


def test_which_images_are_run() -> None:
    programs = Programs(["custom-scheduler:latest"])
    for image in (
        "moorage",
        "moorage:0.1.0",
        "ghcr.io/me/moorage:x",
        "localhost:5000/moorage",
        "moorage@sha256:abc",
        "custom-scheduler:latest",
    ):
        assert programs.is_run({"image": image}), image
    for image in ("nginx", "custom-scheduler", "me/notmoorage", "moorage/other", "moorage-tools"):
        assert not programs.is_run({"image": image}), image


def test_command_lines() -> None:
    mounts = [Mount("/etc/kubernetes", Path("/V/config"))]
    container = {"args": ["--config=/etc/kubernetes/x.yaml", "-v=$(LEVEL)"]}
    words = command_line(container, {"LEVEL": "5"}, mounts)
    assert words[-3:] == ["run", "--config=/V/config/x.yaml", "-v=5"]
    assert Path(words[0]).name in ("moorage", "python", "python3", "python3.11")
    assert command_line({"command": ["/bin/x"], "args": ["a"]}, {}, []) == ["/bin/x", "a"]
    assert Path(command_line({"command": ["python3", "-V"]}, {}, [])[0]).exists()


def test_expansion_does_not_expand_twice() -> None:
    assert expand("$(A)", {"A": "$(B)", "B": "c"}) == "$(B)"


# The volumes of claims


def put_claim(store: Store, volume: Document | None) -> None:
    """A claim `data`, with this volume if there is one."""
    spec = {"volumeName": "pv.1"} if volume is not None else {}
    marks = {"pv.kubernetes.io/bind-completed": "yes"} if volume is not None else {}
    document = {"metadata": {"name": "data", "annotations": marks}, "spec": spec}
    store.create("persistentvolumeclaims", "default", "data", document)
    if volume is not None:
        store.create("persistentvolumes", "", "pv.1", {"metadata": {"name": "pv.1"}, "spec": volume})


CLAIMED: Document = {"name": "v", "persistentVolumeClaim": {"claimName": "data"}}
PROVISIONED: Document = {"csi": {"driver": "local.moorage.example", "volumeHandle": "pvc.1"}}


def test_the_folder_of_a_claim_outlives_the_pod_and_goes_with_the_volume(
    volumes: Volumes, store: Store, tmp_path: Path
) -> None:
    put_claim(store, PROVISIONED)
    document = pod(CLAIMED)
    volumes.write(document, NODE)
    folder = place(volumes, document, "v")
    (folder / "file").write_text("kept")
    assert place(volumes, document, "v", subPath="a/b").is_dir()
    volumes.remove()
    assert (folder / "file").read_text() == "kept"
    assert folder == tmp_path / "claimed" / "pvc_1"

    claimed = ClaimedFolders(tmp_path / "claimed", store)
    store.listen("persistentvolumes", claimed.volume_changed)
    stored = store.get("persistentvolumes", "", "pv.1")
    assert stored is not None
    store.delete("persistentvolumes", stored)
    assert not folder.exists()


def test_a_volume_that_is_to_be_retained_leaves_its_folder(
    volumes: Volumes, store: Store, tmp_path: Path
) -> None:
    put_claim(store, {"nfs": {}, "persistentVolumeReclaimPolicy": "Retain"})
    volumes.write(pod(CLAIMED), NODE)
    claimed = ClaimedFolders(tmp_path / "claimed", store)
    store.listen("persistentvolumes", claimed.volume_changed)
    stored = store.get("persistentvolumes", "", "pv.1")
    assert stored is not None
    store.delete("persistentvolumes", stored)
    assert (tmp_path / "claimed" / "pv_1").is_dir()


@pytest.mark.parametrize("handle", ["../../etc", "/", "a/b", "", "x" * 300, "A"])
def test_a_handle_never_leads_elsewhere(volumes: Volumes, store: Store, tmp_path: Path, handle: str) -> None:
    (tmp_path / "claimed").mkdir()
    put_claim(store, {"csi": {"driver": "local.moorage.example", "volumeHandle": handle}})
    with pytest.raises(Unavailable) as problem:
        volumes.write(pod(CLAIMED), NODE)
    assert str(problem.value) == (
        'MountVolume.SetUp failed for volume "v" : persistentvolume "pv.1": local.moorage.example has no'
        f' volume "{handle}"; set spec.csi.volumeHandle to the name of one that it has made'
    )
    store.listen("persistentvolumes", ClaimedFolders(tmp_path / "claimed", store).volume_changed)
    stored = store.get("persistentvolumes", "", "pv.1")
    assert stored is not None
    store.delete("persistentvolumes", stored)
    assert (tmp_path / "claimed").is_dir()


def test_a_path_of_the_host_behind_a_claim_is_only_read(
    volumes: Volumes, store: Store, tmp_path: Path
) -> None:
    put_claim(store, {"hostPath": {"path": str(tmp_path)}})
    document = pod(CLAIMED)
    container = {"volumeMounts": [{"name": "v", "mountPath": "/m"}]}
    assert volumes.mounts(document, container, {}) == []
    assert place(volumes, document, "v", readOnly=True) == tmp_path


def test_a_pod_waits_for_its_claim(volumes: Volumes, store: Store) -> None:
    start = 'MountVolume.SetUp failed for volume "v" : '
    with pytest.raises(Unavailable) as problem:
        volumes.write(pod(CLAIMED), NODE)
    assert str(problem.value) == f'{start}persistentvolumeclaim "data" not found'
    put_claim(store, None)
    with pytest.raises(Unavailable) as problem:
        volumes.write(pod(CLAIMED), NODE)
    assert str(problem.value) == f"{start}error processing PVC default/data: PVC is not bound"
