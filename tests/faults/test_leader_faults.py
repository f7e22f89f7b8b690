"""The leader dies, hangs or is cut off, and another process goes on with its work."""

import contextlib
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.schedulers import Moorage
from tests.faults.proxy import Balancer
from tests.faults.scene import Scene

pytestmark = pytest.mark.soak

STEADY = 15
"""Binds in a second, so that there is work left for the other process."""


@contextlib.contextmanager
def two_schedulers(scene: Scene, lease: str, line: Path | None = None) -> Iterator[tuple[Moorage, Moorage]]:
    """One that leads and one that waits for its turn; `line` is the kubeconfig of the first."""
    qps = STEADY * scene.size.rounds**2
    with (
        scene.scheduler(line or scene.kubeconfig("first"), lease=lease, qps=qps) as first,
        scene.scheduler(scene.kubeconfig("second"), lease=lease, qps=qps, ready=False) as second,
    ):
        trying = "Attempting to acquire leader lease"
        second.wait_until(trying, lambda: trying in second.log_text())
        yield first, second


def begin(scene: Scene, first: Moorage) -> None:
    scene.create_pods(scene.size.pods)
    first.wait_until("some binds", lambda: scene.bound() > scene.size.pods / 6)


def wait_for_takeover(second: Moorage) -> None:
    leads = "Successfully acquired lease"
    second.wait_until("another leader", lambda: leads in second.log_text())


def test_the_leader_is_killed(scene: Scene) -> None:
    with two_schedulers(scene, "killed") as (first, second):
        begin(scene, first)
        first.kill()
        wait_for_takeover(second)
        assert scene.bound() < scene.size.pods
        scene.wait_until_all_are_bound(second)
    scene.audit(lease="killed")


def test_the_leader_is_paused_for_longer_than_its_lease(scene: Scene) -> None:
    with two_schedulers(scene, "paused") as (first, second):
        begin(scene, first)
        first.send(signal.SIGSTOP)
        try:
            wait_for_takeover(second)
            assert scene.bound() < scene.size.pods
            before = scene.writes_of("first")
            assert before
        finally:
            first.send(signal.SIGCONT)
        assert first.exit_code(10) == 1
        assert "Leaderelection lost" in first.log_text()
        assert scene.writes_of("first") == before
        scene.wait_until_all_are_bound(second)
    scene.audit(lease="paused")


def test_the_leader_is_cut_off(scene: Scene) -> None:
    with Balancer(scene.plane.url) as balancer:
        with two_schedulers(scene, "cut-off", scene.kubeconfig("first", balancer.url)) as (first, second):
            begin(scene, first)
            balancer.freeze()
            wait_for_takeover(second)
            assert first.exit_code(30) == 1
            scene.wait_until_all_are_bound(second)
        assert scene.holder("cut-off") == ""
    scene.audit(lease="cut-off")
