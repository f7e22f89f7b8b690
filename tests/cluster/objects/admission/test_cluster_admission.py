from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.chain import admit, allocate
from moorage.cluster.objects.identity import random_suffix
from moorage.cluster.objects.system_objects import authentication_config, root_ca, system_objects
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.discovery_data import builtin_definitions

DEFINITIONS = {definition.name: definition for definition in builtin_definitions(STRATEGIES)}


class Cluster:
    """A store with a namespace and its default account, behind admission."""

    def __init__(self) -> None:
        self.store = Store()
        self.put("namespaces", "", "team", status={"phase": "Active"})
        self.put("serviceaccounts", "team", "default")

    def put(self, resource: str, namespace: str, name: str, **fields: Any) -> None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        metadata |= fields.pop("metadata", {})
        self.store.create(resource, namespace, name, {"metadata": metadata, **fields})

    def create(self, resource: str, document: Document) -> Document:
        self.admit(resource, document, None, "CREATE")
        return document

    def update(self, resource: str, document: Document, old: Document, subresource: str = "") -> Document:
        before = deepcopy(old)
        self.admit(resource, document, old, "UPDATE", subresource)
        assert old == before
        return document

    def admit(
        self, resource: str, document: Document, old: Document | None, operation: str, subresource: str = ""
    ) -> None:
        attempt = Attempt(DEFINITIONS[resource], document, old, operation, self.store, lambda: "abcde")
        admit(attempt, subresource)
        if operation != "DELETE":
            allocate(attempt, subresource)

    def refusal(self, resource: str, document: Document) -> Refusal:
        with pytest.raises(Refusal) as refusal:
            self.create(resource, document)
        return refusal.value


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def pod(name: str = "p", **spec: Any) -> Document:
    return {
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"containers": [{"name": "main", "image": "nginx"}], **spec},
    }


# Namespaces


def test_nothing_is_created_in_a_namespace_that_is_not_there(cluster: Cluster) -> None:
    refusal = cluster.refusal("configmaps", {"metadata": {"name": "x", "namespace": "nowhere"}})

    assert refusal.document() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'namespaces "nowhere" not found',
        "reason": "NotFound",
        "details": {"name": "nowhere", "kind": "namespaces"},
        "code": 404,
    }


def test_nothing_is_created_in_a_namespace_that_ends(cluster: Cluster) -> None:
    cluster.put("namespaces", "", "old", status={"phase": "Terminating"})
    document = {"metadata": {"name": "x", "namespace": "old"}}

    refusal = cluster.refusal("configmaps", document)

    assert refusal.code == 403
    assert refusal.message == (
        'configmaps "x" is forbidden: unable to create new content in namespace old '
        "because it is being terminated"
    )
    assert refusal.document()["details"]["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace old is being terminated",
            "field": "metadata.namespace",
        }
    ]
    cluster.update("configmaps", document, document)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_some_namespaces_stay(cluster: Cluster, name: str) -> None:
    document: Document = {"metadata": {"name": name}}

    with pytest.raises(Refusal) as refusal:
        cluster.admit("namespaces", document, document, "DELETE")

    assert refusal.value.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


def test_the_priority_classes_of_the_system_stay(cluster: Cluster) -> None:
    document: Document = {"metadata": {"name": "system-node-critical"}}

    with pytest.raises(Refusal) as refusal:
        cluster.admit("priorityclasses.scheduling.k8s.io", document, document, "DELETE")

    assert refusal.value.message == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


def test_other_namespaces_and_objects_called_like_them_can_be_deleted(cluster: Cluster) -> None:
    for resource, name in (("namespaces", "kube-node-lease"), ("configmaps", "default")):
        document: Document = {"metadata": {"name": name, "namespace": "team"}}
        cluster.admit(resource, document, document, "DELETE")


# Service accounts


def test_a_pod_gets_the_default_account_and_its_token(cluster: Cluster) -> None:
    spec = cluster.create("pods", pod())["spec"]

    assert spec == {
        "containers": [
            {
                "name": "main",
                "image": "nginx",
                "volumeMounts": [
                    {
                        "name": "kube-api-access-abcde",
                        "readOnly": True,
                        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    }
                ],
            }
        ],
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "volumes": [
            {
                "name": "kube-api-access-abcde",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {
                            "configMap": {
                                "items": [{"key": "ca.crt", "path": "ca.crt"}],
                                "name": "kube-root-ca.crt",
                            }
                        },
                        {
                            "downwardAPI": {
                                "items": [
                                    {
                                        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                        "path": "namespace",
                                    }
                                ]
                            }
                        },
                    ],
                },
            }
        ],
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
            {
                "key": "node.kubernetes.io/unreachable",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            },
        ],
    }


def test_a_volume_for_the_token_that_is_there_is_used(cluster: Cluster) -> None:
    mount = {"name": "kube-api-access-foo", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    init = {"name": "i", "volumeMounts": [mount]}

    spec = cluster.create(
        "pods", pod(initContainers=[init], volumes=[{"name": "kube-api-access-foo", "emptyDir": {}}])
    )["spec"]

    assert spec["initContainers"] == [init]
    assert spec["containers"][0]["volumeMounts"] == [{**mount, "readOnly": True}]
    assert spec["volumes"] == [{"name": "kube-api-access-foo", "emptyDir": {}}]


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_pod_and_account_can_do_without_the_token(
    cluster: Cluster, of_account: bool | None, of_pod: bool | None, mounted: bool
) -> None:
    cluster.put("serviceaccounts", "team", "own", **_unless_none(automountServiceAccountToken=of_account))

    spec = cluster.create(
        "pods", pod(serviceAccountName="own", **_unless_none(automountServiceAccountToken=of_pod))
    )["spec"]

    assert ("volumes" in spec) == mounted


def _unless_none(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"name": "p"}, "p"),
        ({"generateName": "web-", "name": "web-x7k2p"}, "web-"),
        ({"generateName": "web-", "name": "other"}, "other"),
        ({}, "Unknown"),
    ],
)
def test_an_account_must_be_there(cluster: Cluster, metadata: Document, shown: str) -> None:
    document = pod(serviceAccountName="nope")
    document["metadata"] = {"namespace": "team", **metadata}

    assert cluster.refusal("pods", document).message == (
        f'pods "{shown}" is forbidden: error looking up service account team/nope: '
        'serviceaccount "nope" not found'
    )


def test_a_pod_pulls_images_with_the_secrets_of_its_account(cluster: Cluster) -> None:
    cluster.put("serviceaccounts", "team", "puller", imagePullSecrets=[{"name": "registry"}])

    plain = cluster.create("pods", pod(serviceAccountName="puller"))
    own = cluster.create("pods", pod(serviceAccountName="puller", imagePullSecrets=[{"name": "mine"}]))

    assert plain["spec"]["imagePullSecrets"] == [{"name": "registry"}]
    assert own["spec"]["imagePullSecrets"] == [{"name": "mine"}]


def test_an_account_can_be_limited_to_its_secrets(cluster: Cluster) -> None:
    cluster.put(
        "serviceaccounts",
        "team",
        "limited",
        metadata={"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}},
        secrets=[{"name": "known"}],
    )
    known = {"name": "v", "secret": {"secretName": "known"}}
    other = {"name": "v", "secret": {"secretName": "other"}}

    cluster.create("pods", pod(serviceAccountName="limited", volumes=[known]))

    assert cluster.refusal("pods", pod(serviceAccountName="limited", volumes=[other])).message == (
        'pods "p" is forbidden: volume with secret.secretName="other" is not allowed because service account '
        "limited does not reference that secret"
    )


def test_a_mirror_pod_has_no_account(cluster: Cluster) -> None:
    document = pod()
    document["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert "serviceAccountName" not in cluster.create("pods", deepcopy(document))["spec"]

    document["spec"]["serviceAccountName"] = "default"

    assert cluster.refusal("pods", document).message == (
        'pods "p" is forbidden: a mirror pod may not reference service accounts'
    )


def test_token_volumes_have_names_of_their_own() -> None:
    suffixes = {random_suffix() for _ in range(50)}

    assert len(suffixes) > 40
    assert all(re.fullmatch("[bcdfghjklmnpqrstvwxz2456789]{5}", suffix) for suffix in suffixes)


# Priorities


def test_a_pod_has_the_priority_of_its_class(cluster: Cluster) -> None:
    cluster.put("priorityclasses.scheduling.k8s.io", "", "high", value=7, preemptionPolicy="Never")

    spec = cluster.create("pods", pod(priorityClassName="high"))["spec"]

    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


def test_a_default_class_is_for_all_that_name_none(cluster: Cluster) -> None:
    for name, value in (("b", 9), ("a", 5)):
        cluster.put("priorityclasses.scheduling.k8s.io", "", name, value=value, globalDefault=True)

    spec = cluster.create("pods", pod())["spec"]

    assert (spec["priorityClassName"], spec["priority"]) == ("a", 5)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"priorityClassName": "nope"}, "no PriorityClass with name nope was found"),
        (
            {"priority": 5},
            "the integer value of priority (5) must not be provided in pod spec; "
            "priority admission controller computed 0 from the given PriorityClass name",
        ),
        (
            {"preemptionPolicy": "Never"},
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; "
            "priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
        ({"runtimeClassName": "foo"}, 'pod rejected: RuntimeClass "foo" not found'),
    ],
)
def test_priorities_are_not_for_pods_to_choose(cluster: Cluster, spec: Document, why: str) -> None:
    assert cluster.refusal("pods", pod(**spec)).message == f'pods "p" is forbidden: {why}'


def test_an_update_keeps_the_priority(cluster: Cluster) -> None:
    old = cluster.create("pods", pod())

    new = cluster.update("pods", pod(tolerations=[{"operator": "Exists"}]), old)

    assert new["spec"]["priority"] == 0
    assert new["spec"]["preemptionPolicy"] == "PreemptLowerPriority"
    assert "serviceAccountName" not in new["spec"]


def test_only_one_class_is_the_default(cluster: Cluster) -> None:
    resource = "priorityclasses.scheduling.k8s.io"
    first: Document = {"metadata": {"name": "first"}, "value": 1, "globalDefault": True}
    cluster.create(resource, first)
    cluster.store.create(resource, "", "first", first)

    cluster.update(resource, first, first)
    refusal = cluster.refusal(resource, {"metadata": {"name": "second"}, "globalDefault": True})

    assert refusal.message == (
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as '
        "default. Only one default can exist"
    )


# Tolerations


@pytest.mark.parametrize(
    ("toleration", "added"),
    [
        ({"operator": "Exists"}, []),
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, ["node.kubernetes.io/unreachable"]),
        (
            {"operator": "Exists", "effect": "NoSchedule"},
            ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"],
        ),
    ],
)
def test_own_tolerations_count(cluster: Cluster, toleration: Document, added: list[str]) -> None:
    tolerations = cluster.create("pods", pod(tolerations=[toleration]))["spec"]["tolerations"]

    assert tolerations[0] == toleration
    assert [each["key"] for each in tolerations[1:]] == added


# Storage


def claim(**spec: Any) -> Document:
    return {
        "metadata": {"name": "data", "namespace": "team"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, **spec},
        "status": {"phase": "Bound"},
    }


def storage_class(cluster: Cluster, name: str, created: str, **fields: Any) -> None:
    annotations = {"storageclass.kubernetes.io/is-default-class": "true"}
    cluster.put(
        "storageclasses.storage.k8s.io",
        "",
        name,
        metadata={"annotations": annotations, "creationTimestamp": created},
        **fields,
    )


def test_claims_get_the_newest_default_class(cluster: Cluster) -> None:
    assert "storageClassName" not in cluster.create("persistentvolumeclaims", claim())["spec"]
    storage_class(cluster, "older", "2024-01-01T00:00:00Z")
    storage_class(cluster, "b", "2024-01-02T00:00:00Z")
    storage_class(cluster, "a", "2024-01-02T00:00:00Z")

    assert cluster.create("persistentvolumeclaims", claim())["spec"]["storageClassName"] == "a"
    for own in ("", "mine"):
        document = cluster.create("persistentvolumeclaims", claim(storageClassName=own))
        assert document["spec"]["storageClassName"] == own


def test_ingresses_get_the_newest_default_class(cluster: Cluster) -> None:
    ingresses, classes = "ingresses.networking.k8s.io", "ingressclasses.networking.k8s.io"

    def ingress(annotations: dict[str, str] | None = None, **spec: Any) -> Document:
        metadata = {"name": "i", "namespace": "team", "annotations": annotations or {}}
        return {"metadata": metadata, "spec": spec}

    assert cluster.create(ingresses, ingress())["spec"] == {}
    for name, day, mark in (("older", 1, "true"), ("b", 2, "true"), ("a", 2, "true"), ("no", 3, "false")):
        annotations = {"ingressclass.kubernetes.io/is-default-class": mark}
        created = f"2024-01-0{day}T00:00:00Z"
        cluster.put(classes, "", name, metadata={"annotations": annotations, "creationTimestamp": created})

    assert cluster.create(ingresses, ingress())["spec"] == {"ingressClassName": "a"}
    named = ingress(ingressClassName="mine")
    assert cluster.create(ingresses, named)["spec"] == {"ingressClassName": "mine"}
    assert cluster.create(ingresses, ingress({"kubernetes.io/ingress.class": "mine"}))["spec"] == {}
    assert cluster.update(ingresses, ingress(), ingress())["spec"] == {}


@pytest.mark.parametrize(
    ("resource", "finalizer"),
    [
        ("persistentvolumeclaims", "kubernetes.io/pvc-protection"),
        ("persistentvolumes", "kubernetes.io/pv-protection"),
        ("volumeattributesclasses.storage.k8s.io", "kubernetes.io/vac-protection"),
    ],
)
def test_what_is_in_use_is_protected(cluster: Cluster, resource: str, finalizer: str) -> None:
    document = claim()
    document["metadata"]["finalizers"] = ["a.b/c"]

    cluster.create(resource, document)
    cluster.create(resource, document)

    assert document["metadata"]["finalizers"] == ["a.b/c", finalizer]


def test_a_claim_can_grow_only_if_its_class_says_so(cluster: Cluster) -> None:
    storage_class(cluster, "fixed", "2024-01-01T00:00:00Z")
    storage_class(cluster, "elastic", "2024-01-01T00:00:00Z", allowVolumeExpansion=True)
    more = {"requests": {"storage": "2Gi"}}

    def grow(name: str) -> None:
        old, new = claim(storageClassName=name), claim(storageClassName=name, resources=more)
        cluster.update("persistentvolumeclaims", new, old)

    grow("elastic")
    with pytest.raises(Refusal) as refusal:
        grow("fixed")

    assert refusal.value.message == (
        'persistentvolumeclaims "data" is forbidden: only dynamically provisioned pvc can be resized and the '
        "storageclass that provisions the pvc must support resize"
    )


# Services, status updates, and everything else


def test_a_service_gets_its_address(cluster: Cluster) -> None:
    document: Document = {
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"type": "ClusterIP", "ports": [{"port": 80}]},
    }

    assert cluster.create("services", document)["spec"]["clusterIP"].startswith("10.96.")


def test_a_status_is_left_alone(cluster: Cluster) -> None:
    document: Document = {"metadata": {"name": "p", "namespace": "team"}, "spec": {}, "status": {}}
    before = deepcopy(document)

    cluster.update("pods", document, document, "status")

    assert document == before


def test_custom_resources_need_a_namespace_too(cluster: Cluster) -> None:
    plain = DEFINITIONS["configmaps"]
    custom = Definition("example.com", "v1", "things", "Thing", True, plain.schema, custom=True)

    document = {"metadata": {"name": "t", "namespace": "nowhere"}}
    with pytest.raises(Refusal) as refusal:
        admit(Attempt(custom, document, None, "CREATE", cluster.store))

    assert refusal.value.code == 404


def test_the_objects_of_a_fresh_cluster_can_be_created_in_their_order() -> None:
    store = Store()
    for resource, given in system_objects():
        document = deepcopy(given)
        definition = DEFINITIONS[resource]
        definition.strategy.default(document)
        definition.strategy.prepare_create(document)
        attempt = Attempt(definition, document, None, "CREATE", store)
        admit(attempt)
        allocate(attempt)
        assert list(definition.strategy.validate(document)) == []
        metadata = document["metadata"]
        store.create(resource, metadata.get("namespace", ""), metadata["name"], document)

    assert [stored.name for stored in store.objects("namespaces")] == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]
    service = store.get("services", "default", "kubernetes")
    assert service is not None
    assert service.document["spec"]["clusterIPs"] == ["10.96.0.1"]
    classes = {
        each.name: each.document["value"] for each in store.objects("priorityclasses.scheduling.k8s.io")
    }
    assert classes == {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def test_the_authority_of_the_server_is_where_programs_look_for_it() -> None:
    assert authentication_config("PEM")["data"]["client-ca-file"] == "PEM"
    assert root_ca("PEM")["metadata"]["name"] == "kube-root-ca.crt"
    assert root_ca("PEM")["data"] == {"ca.crt": "PEM"}
