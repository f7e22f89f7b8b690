from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.chain import admit
from moorage.cluster.schema.discovery_data import builtin_definitions

DEFINITIONS = {definition.name: definition for definition in builtin_definitions(STRATEGIES)}


@pytest.fixture
def store() -> Store:
    store = Store()
    put(store, "namespaces", "team", {}, namespace="")
    put(store, "serviceaccounts", "default", {})
    return store


def put(store: Store, resource: str, name: str, spec: Document, namespace: str = "team") -> None:
    document = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    STRATEGIES[resource].default(document)
    store.create(resource, namespace, name, document)


def create(store: Store, resource: str, spec: Document, name: str = "p") -> Document:
    document: Document = {
        "metadata": {"name": name, "namespace": "team"},
        "spec": deepcopy(spec),
        "status": {"phase": "Pending"},
    }
    admit(Attempt(DEFINITIONS[resource], document, None, "CREATE", store))
    store.create(resource, "team", name, document)
    return document


def refused(store: Store, resource: str, spec: Document) -> str:
    with pytest.raises(Refusal) as refusal:
        create(store, resource, spec, "late")
    assert refusal.value.code == 403
    return refusal.value.message


def containers(**resources: Any) -> Document:
    return {"containers": [{"name": "main", "resources": resources}]}


def test_containers_get_the_defaults_of_their_namespace(store: Store) -> None:
    limit = {"type": "Container", "default": {"cpu": "2"}, "defaultRequest": {"cpu": "1", "memory": "1Mi"}}
    put(store, "limitranges", "limits", {"limits": [limit]})
    spec = {**containers(requests={"memory": "5Mi"}), "initContainers": [{"name": "first", "resources": {}}]}

    document = create(store, "pods", spec)

    assert document["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "5Mi"},
        "limits": {"cpu": "2"},
    }
    assert document["spec"]["initContainers"][0]["resources"] == {
        "requests": {"cpu": "1", "memory": "1Mi"},
        "limits": {"cpu": "2"},
    }
    assert document["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container main; cpu limit for "
        "container main; cpu, memory request for init container first; cpu limit for init container first"
    }
    assert document["status"]["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        (
            {"requests": {"cpu": "50m"}, "limits": {"cpu": "1"}},
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"requests": {"cpu": "200m"}, "limits": {"cpu": "3"}},
            "maximum cpu usage per Container is 2, but limit is 3",
        ),
        (
            {"requests": {"cpu": "50m"}, "limits": {"cpu": "3"}},
            "[minimum cpu usage per Container is 100m, but request is 50m, "
            "maximum cpu usage per Container is 2, but limit is 3]",
        ),
    ],
)
def test_containers_stay_within_the_limits(store: Store, resources: Document, why: str) -> None:
    limit = {"type": "Container", "min": {"cpu": "100m"}, "max": {"cpu": "2"}}
    put(store, "limitranges", "limits", {"limits": [limit]})

    create(store, "pods", containers(requests={"cpu": "100m"}, limits={"cpu": "2"}), "fits")

    assert refused(store, "pods", containers(**resources)) == f'pods "late" is forbidden: {why}'


def test_limits_and_requests_stay_together(store: Store) -> None:
    limit = {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}
    put(store, "limitranges", "limits", {"limits": [limit]})

    assert refused(store, "pods", containers(requests={"cpu": "1"}, limits={"cpu": "3"})) == (
        'pods "late" is forbidden: cpu max limit to request ratio per Container is 2, '
        "but provided ratio is 3.000000"
    )


def test_claims_stay_within_the_limits(store: Store) -> None:
    limit = {"type": "PersistentVolumeClaim", "max": {"storage": "5Gi"}, "min": {"storage": "1Gi"}}
    put(store, "limitranges", "limits", {"limits": [limit]})

    create(store, "persistentvolumeclaims", {"resources": {"requests": {"storage": "5Gi"}}}, "fits")

    assert refused(store, "persistentvolumeclaims", {"resources": {"requests": {"storage": "6Gi"}}}) == (
        'persistentvolumeclaims "late" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, '
        "but request is 6Gi"
    )
