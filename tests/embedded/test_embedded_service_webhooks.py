"""A webhook behind a Service, in a pod that really runs."""

import base64
import json
import socket
from pathlib import Path

import yaml

from moorage.client.self_signed import self_signed
from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded

PROGRAM = Path(__file__).with_name("webhook_program.py")
NAMESPACE = "kube-system"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("", 0))
        return int(found.getsockname()[1])


def test_a_webhook_in_a_pod_is_found_through_its_service(programs: Path, tmp_path: Path) -> None:
    text = self_signed((f"hook.{NAMESPACE}.svc",)).decode()
    start = text.index("-----BEGIN CERTIFICATE-----")
    key, certificate = text[:start], text[start:]
    metadata = {"name": "hook", "namespace": NAMESPACE, "labels": {"app": "hook"}}
    port = free_port()
    folder = "/etc/hook"
    command = ["python", f"{folder}/program.py", str(port), f"{folder}/tls.crt", f"{folder}/tls.key"]
    container = {
        "name": "hook",
        "image": "moorage",
        "command": command,
        "ports": [{"name": "https", "containerPort": port}],
        "volumeMounts": [{"name": "hook", "mountPath": folder}],
    }
    files = [{"secret": {"name": "hook"}}, {"configMap": {"name": "hook"}}]
    volume = {"name": "hook", "projected": {"sources": files}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    webhook = {
        "name": "pods.hook.example.com",
        "clientConfig": {
            "service": {"name": "hook", "namespace": NAMESPACE, "path": "/judge"},
            "caBundle": encoded(certificate),
        },
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
        "rules": [rule],
        "timeoutSeconds": 5,
    }
    documents = [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"tls.crt": certificate, "tls.key": key},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"program.py": PROGRAM.read_text()},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            "spec": {"selector": {"app": "hook"}, "ports": [{"port": 443, "targetPort": "https"}]},
        },
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "hook"},
            "webhooks": [webhook],
        },
    ]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], "volumes": [volume]},
    }
    with Embedded("--nodes=1") as cluster:
        kubectl = cluster.kubectl
        kubectl("apply", "-f", "-", input=yaml.safe_dump_all(documents))
        refused = kubectl.run("create", "configmap", "x")
        shown = f"https://hook.{NAMESPACE}.svc:443/judge?timeout=5s"
        assert f'Post "{shown}": no endpoints available for service "hook"' in refused.errors
        kubectl("apply", "-f", "-", input=json.dumps(pod))
        wanted = f"no to hook.{NAMESPACE}.svc:443/judge?timeout=5s"
        wait_for("the webhook", lambda: wanted in kubectl.run("create", "configmap", "x").errors)
        kubectl("-n", NAMESPACE, "delete", "pod", "hook", "--grace-period=1")
        assert "no endpoints" in kubectl.run("create", "configmap", "x").errors
