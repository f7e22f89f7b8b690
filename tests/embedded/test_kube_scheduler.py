"""The real kube-scheduler v1.36 at work on an embedded cluster."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.observing import Assignments
from tests.controlplane.schedulers import Api, pod
from tests.controlplane.servers import HOST, ControlPlaneError, Program, free_ports, wait_for
from tests.embedded.clusters import Embedded

PODS = 500
NODES = 20


def configuration(kubeconfig: Path, content_type: str) -> dict[str, Any]:
    """Without a content type the scheduler writes its own, which is protobuf, and reads what it gets."""
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": {
            "kubeconfig": str(kubeconfig),
            **({"contentType": content_type, "acceptContentTypes": content_type} if content_type else {}),
            "qps": 1000,
            "burst": 1000,
        },
        "leaderElection": {"leaderElect": True},
    }


@pytest.mark.parametrize("content_type", ["application/json", ""], ids=["json", "default"])
def test_kube_scheduler_schedules(programs: Path, tmp_path: Path, content_type: str) -> None:
    with Embedded("--no-scheduler", f"--nodes={NODES}") as cluster, Assignments(cluster) as assignments:
        config = tmp_path / "config.json"
        config.write_text(json.dumps(configuration(cluster.kubeconfig, content_type)))
        [port] = free_ports(1)
        flags = (
            f"--config={config}",
            *(f"--{what}-kubeconfig={cluster.kubeconfig}" for what in ("authentication", "authorization")),
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            "-v=2",
        )
        scheduler = Program(programs / "kube-scheduler", flags, tmp_path / "kube-scheduler.log")
        try:
            api = Api(cluster)
            api.create(pod(f"pod-{number}", scheduler="default-scheduler") for number in range(PODS))
            wait_for("every pod running", lambda: _all_running(scheduler, api), seconds=90)
            placed = Counter(each["spec"]["nodeName"] for each in api.pods().values())
            assert placed.total() == PODS
            assert len(placed) == NODES, "the pods are spread over all nodes"
            assert assignments.moved() == {}
            assert assignments.seen() == PODS
            lease = api.request(
                "GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
            )
            assert lease["spec"]["holderIdentity"]
            assert _complaints(scheduler.log_text()) == []
        finally:
            scheduler.stop()
        assert "unexpected error" not in cluster.program.log_text()


def _all_running(scheduler: Program, api: Api) -> bool:
    scheduler.check_running()
    pods = api.pods()
    if len(pods) != PODS:
        raise ControlPlaneError(f"there are {len(pods)} pods")
    return all(each["status"].get("phase") == "Running" for each in pods.values())


def _complaints(log: str) -> list[str]:
    """The lines of errors and warnings, apart from the one that every start of the scheduler has."""
    lines = [line for line in log.splitlines() if re.match(r"[EWF]\d{4} ", line)]
    return [line for line in lines if "manifest file is empty" not in line]
