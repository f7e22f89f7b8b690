"""A plugin that never returns: how soon kubectl is answered, the pod is told and Ctrl-C ends the process."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.bounds import Check, Outcomes
from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded
from tests.embedded.hanging import MESSAGES, PLUGIN
from tests.seeds.common import Cluster, pod

LIMIT = 3.0


def measure() -> Outcomes:
    print("\na plugin that never returns, at each point", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(folder) / "stuck.py"
        plugin.write_text(PLUGIN)
        for point in MESSAGES:
            yield from _measure(point, plugin)


def _measure(point: str, plugin: Path) -> Iterator[Check]:
    with Embedded("--nodes=2", f"--plugin={plugin}", f"--plugin-timeout={LIMIT:g}s", "-v=1") as up:
        cluster = Cluster(True, up.kubeconfig, up.token, up.kubectl)
        cluster.create(pod("stuck", annotations={"hangs-at": point}))
        began = time.monotonic()
        slowest = 0.0
        reason = "Scheduled" if point == "PostBind" else "FailedScheduling"
        while not cluster.notes("stuck", reason) and time.monotonic() - began < LIMIT + 10:
            asked = time.monotonic()
            up.kubectl("get", "nodes")
            slowest = max(slowest, time.monotonic() - asked)
        told = time.monotonic() - began
        yield Check(f"kubectl get nodes while {point} hangs", slowest, 1.0, "s")
        yield Check(f"the pod is told of {point}, limit {LIMIT:g} s", told, LIMIT + 2, "s")
        cluster.create(pod("again", annotations={"hangs-at": point}))
        wait_for("the next hang", lambda: time.monotonic() - began > told + 0.7)
        began = time.monotonic()
        up.program.send(signal.SIGINT)
        up.program.exit_code(30)
        yield Check(f"Ctrl-C while {point} hangs", time.monotonic() - began, 2.0, "s")
