"""The objects an API server makes by itself."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.api_server.flow_objects import flow_objects
from moorage.cluster.kinds.scheduling import SYSTEM_CLASSES
from moorage.cluster.kinds.service_allocation import CLUSTER_IPS

_DESCRIPTIONS = {
    "system-node-critical": "Used for system critical pods that must not be moved from their current node.",
    "system-cluster-critical": "Used for system critical pods that must run in the cluster, but can be moved "
    "to another node if necessary.",
}
_ROOT_CA = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such "
    "as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions "
    "of Kubernetes clusters."
)
_SERVER_PORT = 6443


def system_objects() -> list[tuple[str, Document]]:
    """What a fresh cluster has, with the resource of each, in the order in which it can be created."""
    namespaces = ("default", "kube-system", "kube-public", "kube-node-lease")
    return [
        *(("namespaces", _object("Namespace", {"name": name})) for name in namespaces),
        *(
            ("priorityclasses.scheduling.k8s.io", _priority_class(name, value))
            for name, value in SYSTEM_CLASSES.items()
        ),
        ("servicecidrs.networking.k8s.io", _service_range()),
        ("services", _service()),
        *flow_objects(),
    ]


def authentication_config(ca: str) -> Document:
    """Where servers behind the API server find what they need to know callers by; `ca` is PEM."""
    metadata = {"name": "extension-apiserver-authentication", "namespace": "kube-system"}
    data = {
        "client-ca-file": ca,
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-client-ca-file": ca,
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-username-headers": '["X-Remote-User"]',
    }
    return _object("ConfigMap", metadata, data=data)


def root_ca(ca: str) -> Document:
    """The ConfigMap that every namespace has, by which pods know the API server; `ca` is PEM."""
    annotations = {"kubernetes.io/description": _ROOT_CA}
    return _object("ConfigMap", {"name": "kube-root-ca.crt", "annotations": annotations}, data={"ca.crt": ca})


def _priority_class(name: str, value: int) -> Document:
    fields = {"value": value, "description": _DESCRIPTIONS[name]}
    return _object("PriorityClass", {"name": name}, "scheduling.k8s.io/v1", **fields)


def _service() -> Document:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    spec = {
        "clusterIP": str(CLUSTER_IPS[1]),
        "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": _SERVER_PORT}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return _object("Service", {"name": "kubernetes", "namespace": "default", "labels": labels}, spec=spec)


def _service_range() -> Document:
    spec = {"cidrs": [str(CLUSTER_IPS)]}
    return _object("ServiceCIDR", {"name": "kubernetes"}, "networking.k8s.io/v1", spec=spec)


def _object(kind: str, metadata: Document, api_version: str = "v1", **fields: Any) -> Document:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
