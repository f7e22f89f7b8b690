"""What runs in the cluster: the configuration, the pods, and how others reach them."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from moorage.cli.deployment.metadata import labels, metadata, selector
from moorage.cli.deployment.planning import Plan
from moorage.config.show import to_yaml

_FOLDER = "/etc/moorage"
_CONFIGURATION = "scheduler.yaml"
_PORT = 10259
_SHADOW_PORT = 10251
_USER = 65532
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"

Document = dict[str, Any]


def config_map(plan: Plan) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(plan), "data": _data(plan)}


def _data(plan: Plan) -> dict[str, str]:
    return {_CONFIGURATION: to_yaml(plan.configuration, sort_keys=False), **plan.plugin_files}


def deployment(plan: Plan) -> Document:
    content = hashlib.sha256(json.dumps(_data(plan), sort_keys=True).encode()).hexdigest()
    template = {
        # The configuration is read once: with another one, `kubectl apply` replaces the pods.
        "metadata": {"labels": labels(plan), "annotations": {"checksum/config": content[:16]}},
        "spec": _pod(plan),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(plan),
        "spec": {
            "replicas": plan.replicas,
            "selector": {"matchLabels": selector(plan)},
            "template": template,
        },
    }


def _pod(plan: Plan) -> Document:
    apart = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": selector(plan)}}
    # Other namespaces may not use this class.
    is_critical = plan.namespace == "kube-system" and not plan.is_shadow
    priority = {"priorityClassName": "system-cluster-critical"} if is_critical else {}
    return {
        "serviceAccountName": plan.name,
        **priority,
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": apart}]
            }
        },
        "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(plan)],
        "volumes": [
            {"name": "config", "configMap": {"name": plan.name, **_items(plan)}},
            {"name": "tmp", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}},
        ],
    }


def _items(plan: Plan) -> Document:
    """Plugins have a folder of their own, which is the one they import from."""
    if not plan.plugin_files:
        return {}
    plugins = [{"key": name, "path": f"plugins/{name}"} for name in plan.plugin_files]
    return {"items": [{"key": _CONFIGURATION, "path": _CONFIGURATION}, *plugins]}


def _port(plan: Plan) -> tuple[str, int]:
    """A shadow may not ask the cluster who its callers are: it serves to all, over HTTP."""
    return ("http", _SHADOW_PORT) if plan.is_shadow else ("https", _PORT)


def _command(plan: Plan) -> list[str]:
    given = [f"--config={_FOLDER}/{_CONFIGURATION}", *plan.plugin_flags]
    if plan.is_shadow:
        return ["moorage", "shadow", *given, f"--metrics-port=0.0.0.0:{_SHADOW_PORT}"]
    return ["moorage", "run", *given, "-v=2"]


def _container(plan: Plan) -> Document:
    scheme, port = _port(plan)
    probed = {"port": scheme, "scheme": scheme.upper()}
    return {
        "name": "moorage",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": _command(plan),
        "ports": [{"name": scheme, "containerPort": port}],
        "livenessProbe": {
            "httpGet": {"path": "/livez", **probed},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            "timeoutSeconds": 15,
            "failureThreshold": 8,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", **probed},
            "periodSeconds": 5,
            "timeoutSeconds": 15,
        },
        "resources": {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"memory": "2Gi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": "config", "mountPath": _FOLDER, "readOnly": True},
            {"name": "tmp", "mountPath": "/tmp"},
        ],
    }


def disruption_budget(plan: Plan) -> Document:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(plan),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(plan)}},
    }


def service(plan: Plan) -> Document:
    scheme, port = _port(plan)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan),
        "spec": {
            "selector": selector(plan),
            "ports": [{"name": scheme, "port": port, "targetPort": scheme}],
        },
    }


def service_monitor(plan: Plan) -> Document:
    """For the Prometheus operator. Prometheus itself needs the right to read /metrics."""
    scheme, _ = _port(plan)
    secured = {
        "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
        # The certificate is self-signed.
        "tlsConfig": {"insecureSkipVerify": True},
    }
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(plan),
        "spec": {
            "selector": {"matchLabels": selector(plan)},
            "endpoints": [
                {
                    "port": scheme,
                    "scheme": scheme,
                    "path": "/metrics",
                    **({} if plan.is_shadow else secured),
                }
            ],
        },
    }
