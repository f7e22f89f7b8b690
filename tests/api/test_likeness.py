from __future__ import annotations

from typing import Any

import pytest

from moorage.api.likeness import likeness, shape, template
from moorage.api.pods import Pod
from moorage.api.selectors import selector_from_map
from moorage.testing import make_pod

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
TOKEN: dict[str, Any] = {"projected": {"sources": []}}


def test_a_label_counts_from_when_a_selector_asks_for_it() -> None:
    first, second = (make_pod(name, labels={"number-in-its-set": name}) for name in ("a", "b"))
    assert likeness(first) == likeness(second) is not None
    selector_from_map({"number-in-its-set": "c"})
    assert likeness(first) != likeness(second)


def test_pods_of_one_replica_set_are_alike() -> None:
    first, second = (
        make_pod(
            name,
            metadata={"ownerReferences": [OWNER], "annotations": {"pod": name}},
            labels={"app": "web"},
            volumes=[{"name": f"kube-api-access-{name}", **TOKEN}],
        )
        for name in ("a", "b")
    )
    assert likeness(first) == likeness(second) is not None


@pytest.mark.parametrize(
    "fields",
    [
        {"namespace": "other"},
        {"labels": {"app": "b"}},
        {"metadata": {"ownerReferences": [OWNER]}},
        {"cpu": "2"},
        {"priority": 1},
        {"nodeSelector": {"a": "b"}},
        {"tolerations": [{"operator": "Exists"}]},
        {"preemptionPolicy": "Never"},
        {"schedulerName": "other"},
        {"hostNetwork": True},
    ],
    ids=str,
)
def test_what_pods_differ_in(fields: dict[str, Any]) -> None:
    selector_from_map({"app": "any"})
    assert likeness(make_pod("b", **fields)) not in (likeness(make_pod("a")), None)


@pytest.mark.parametrize(
    "fields",
    [
        {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]},
        {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {}}}]},
        {"volumes": [{"name": "v", "gcePersistentDisk": {"pdName": "d"}}]},
        {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
        {"status": {"nominatedNodeName": "n"}},
        {"status": {"containerStatuses": [{"name": "c"}]}},
        {"terminationGracePeriodSeconds": 2**80},
    ],
    ids=str,
)
def test_pods_like_no_other(fields: dict[str, Any]) -> None:
    assert likeness(make_pod("a", **fields)) is None


def claiming(name: str, **fields: Any) -> Pod:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
    return make_pod(name, **{"volumes": volumes, **fields})


def test_pods_of_one_template_may_have_claims_of_their_own() -> None:
    first, second = claiming("a"), claiming("b")
    assert template(first) == template(second) is not None
    assert shape(first) == shape(second)
    devices = [{"name": "gpu", "resourceClaimName": "a"}], [{"name": "gpu", "resourceClaimName": "b"}]
    with_devices = [make_pod("p", resourceClaims=claims) for claims in devices]
    assert template(with_devices[0]) == template(with_devices[1]) is not None
    plain = make_pod("p")
    keys = [(template(pod), shape(pod)) for pod in (first, with_devices[0], plain)]
    assert len({key for key, _ in keys}) == len({key for _, key in keys}) == 3
    assert template(plain) == likeness(plain)
    assert template(claiming("a", cpu="2")) != template(first)


def test_other_volumes_keep_a_pod_from_being_like_another() -> None:
    assert template(make_pod("a", volumes=[{"name": "v", "gcePersistentDisk": {"pdName": "d"}}])) is None
