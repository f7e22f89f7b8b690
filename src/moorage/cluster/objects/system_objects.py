"""The objects an API server makes by itself."""

from __future__ import annotations

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.scheduling import SYSTEM_CLASSES
from moorage.cluster.kinds.service_allocation import CLUSTER_IPS

NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")

_DESCRIPTIONS = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved "
    "to another node if necessary.",
}
_SERVER_PORT = 6443


def system_objects() -> list[tuple[str, Document]]:
    """What a fresh cluster has, with the resource of each, in the order in which it can be created."""
    return [
        *(("namespaces", _namespace(name)) for name in NAMESPACES),
        *(
            ("priorityclasses.scheduling.k8s.io", _priority_class(name, value))
            for name, value in SYSTEM_CLASSES.items()
        ),
        ("services", _service()),
    ]


def authentication_config(ca: str) -> Document:
    """Where servers behind the API server find what they need to know callers by; `ca` is PEM."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "extension-apiserver-authentication", "namespace": "kube-system"},
        "data": {
            "client-ca-file": ca,
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-client-ca-file": ca,
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-uid-headers": '["X-Remote-Uid"]',
            "requestheader-username-headers": '["X-Remote-User"]',
        },
    }


def root_ca(ca: str) -> Document:
    """The ConfigMap that every namespace has, by which pods know the API server; `ca` is PEM."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "kube-root-ca.crt",
            "annotations": {
                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the "
                "kube-apiserver when using internal endpoints such as the internal service IP or "
                "kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
                "clusters."
            },
        },
        "data": {"ca.crt": ca},
    }


def _namespace(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _priority_class(name: str, value: int) -> Document:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": _DESCRIPTIONS[name],
    }


def _service() -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": str(CLUSTER_IPS[1]),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": _SERVER_PORT}],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
    }
