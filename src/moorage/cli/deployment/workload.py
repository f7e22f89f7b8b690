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
    priority = {"priorityClassName": "system-cluster-critical"} if plan.namespace == "kube-system" else {}
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


def _container(plan: Plan) -> Document:
    return {
        "name": "moorage",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["moorage", "run", f"--config={_FOLDER}/{_CONFIGURATION}", *plan.plugin_flags, "-v=2"],
        "ports": [{"name": "https", "containerPort": _PORT}],
        "livenessProbe": {
            "httpGet": {"path": "/livez", "port": "https", "scheme": "HTTPS"},
            "initialDelaySeconds": 10,
            "periodSeconds": 10,
            "timeoutSeconds": 15,
            "failureThreshold": 8,
        },
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": "https", "scheme": "HTTPS"},
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
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(plan),
        "spec": {
            "selector": selector(plan),
            "ports": [{"name": "https", "port": _PORT, "targetPort": "https"}],
        },
    }


def service_monitor(plan: Plan) -> Document:
    """For the Prometheus operator. Prometheus itself needs the right to read /metrics."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": metadata(plan),
        "spec": {
            "selector": {"matchLabels": selector(plan)},
            "endpoints": [
                {
                    "port": "https",
                    "scheme": "https",
                    "path": "/metrics",
                    "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                    # The certificate is self-signed.
                    "tlsConfig": {"insecureSkipVerify": True},
                }
            ],
        },
    }
