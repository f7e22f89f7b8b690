"""The benchmark against kube-scheduler, in small."""

import asyncio
import gc
import json
import warnings
from pathlib import Path

import pytest

from bench import machine
from bench.__main__ import run
from bench.drain import measuring, watching
from bench.drain.draining import Drained, drain
from bench.drain.loading import create, fill
from bench.drain.schedulers import MOORAGE, ORIGINAL, Scheduler, schedulers
from bench.drain.workload import Size, Workload
from bench.drain.workloads import WORKLOADS
from moorage.client.connection import from_kubeconfig
from moorage.client.http import HttpClient
from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane, ControlPlaneError

SMALL = Size(nodes=20, pods=20)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_both_schedulers_are_compared(
    results: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    programs_for(pytestconfig)
    assert run(["drain", "plain", "--nodes", "20", "--pods", "50", "--rounds", "1"]) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out.endswith("all bounds kept\n")
    [file] = results.iterdir()
    [found] = json.loads(file.read_text())["drain"]
    assert (found["workload"], found["nodes"], found["pods"]) == ("plain", 20, 50)
    assert set(found["median"]) == {MOORAGE, ORIGINAL, "moorage up"}
    for figures in found["median"].values():
        assert min(figures.values()) > 0


@pytest.fixture(scope="module")
def both(
    control_plane: ControlPlane, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Scheduler, Scheduler]:
    """The schedulers, for a cluster with nodes and with what the workloads want to be there."""

    async def make() -> None:
        async with HttpClient(from_kubeconfig(str(control_plane.kubeconfig)), qps=-1) as client:
            await fill(client, WORKLOADS["plain"], SMALL)
            for name in ("preemption", "volumes"):
                await create(client, WORKLOADS[name].lasting(SMALL))

    asyncio.run(make())
    folder = tmp_path_factory.mktemp("schedulers")
    return schedulers(programs_for(pytestconfig), control_plane.kubeconfig, folder)


@pytest.mark.parametrize("name", ["daemonset", "preemption", "volumes"])
def test_pods_that_need_more_than_a_node_are_drained(
    control_plane: ControlPlane, both: tuple[Scheduler, Scheduler], name: str
) -> None:
    moorage, _ = both
    run = asyncio.run(drain(control_plane.kubeconfig, moorage, WORKLOADS[name], SMALL, f"{name}-1"))
    assert run.pods_per_second > 0 and run.cpu_per_thousand > 0
    left = control_plane.kubectl("get", "pods", "-n", "default", "-o", "name")
    assert left == ""


def test_watch_that_is_left_at_once_leaves_nothing_open(control_plane: ControlPlane) -> None:
    async def leave() -> None:
        connection = from_kubeconfig(str(control_plane.kubeconfig))
        async with HttpClient(connection, qps=-1) as client, watching.watched(client, ["none"]):
            pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(5):
            asyncio.run(leave())
            gc.collect()
    assert not [str(each.message) for each in caught]


def test_scheduler_that_dies_is_told_with_the_end_of_its_log(
    control_plane: ControlPlane, both: tuple[Scheduler, Scheduler], tmp_path: Path
) -> None:
    dying = Scheduler("dying", Path("/bin/sh"), ("-c", "echo no more; exit 3"), tmp_path / "log")
    with pytest.raises(ControlPlaneError, match="sh ended with exit code 3:\nno more"):
        asyncio.run(drain(control_plane.kubeconfig, dying, WORKLOADS["plain"], SMALL, "dying"))


def test_scheduler_that_stalls_is_given_up(
    control_plane: ControlPlane,
    both: tuple[Scheduler, Scheduler],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watching, "PATIENCE", 0.1)
    stalling = Scheduler("stalling", Path("/bin/sh"), ("-c", "echo zzz; exec sleep 60"), tmp_path / "log")
    with pytest.raises(ControlPlaneError, match="sh bound no pod for 0 s, 0 of 20 in all:\nzzz"):
        asyncio.run(drain(control_plane.kubeconfig, stalling, WORKLOADS["plain"], SMALL, "stalling"))


def test_failed_case_is_one_line_and_the_other_cases_run(
    results: Path,
    pytestconfig: pytest.Config,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(programs: Path, workload: Workload, size: Size, rounds: int) -> dict[str, list[Drained]]:
        if workload.name == "spread":
            raise ControlPlaneError("moorage ended with exit code 1:\nthe last line of its log")
        return {name: [Drained(1, 1, 1, 1)] for name in (MOORAGE, ORIGINAL)}

    programs_for(pytestconfig)
    monkeypatch.setattr(measuring, "contest", fail)
    assert run(["drain", "spread", "distinct", "--nodes", "500", "--rounds", "1"]) == 1
    said = capsys.readouterr()
    assert said.err == "the last line of its log\n"
    assert "\nFAILED drain spread: moorage ended with exit code 1\n1 bounds missed\n" in said.out
    assert "\ndistinct " in said.out
