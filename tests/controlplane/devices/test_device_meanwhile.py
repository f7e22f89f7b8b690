"""Others write to claims, and API servers are slow, while kube-scheduler and Moorage play the same cases."""

import asyncio
import contextlib
from pathlib import Path

import pytest

from tests.controlplane.devices.device_cluster import kubeconfig_behind
from tests.controlplane.devices.device_meanwhile_stories import STORIES
from tests.controlplane.devices.device_stages import DeviceStage, DeviceWorld
from tests.controlplane.playing import Results, outcome, play
from tests.controlplane.schedulers import configuration, moorage
from tests.controlplane.servers import ControlPlane, Program
from tests.faults.gateway import Gateway


@pytest.fixture(scope="module")
def results(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What was seen of all cases under both schedulers."""
    folder = tmp_path_factory.mktemp("gateway")
    with Gateway(control_plane.url, control_plane.ca_file, folder) as gateway:
        kubeconfig = kubeconfig_behind(control_plane, gateway, folder)
        return asyncio.run(play_all(control_plane, gateway, kubeconfig))


async def play_all(plane: ControlPlane, gateway: Gateway, kubeconfig: Path) -> Results:
    with contextlib.ExitStack() as running:
        programs: list[Program] = []

        def start_schedulers() -> None:
            programs.append(running.enter_context(plane.kube_scheduler(f"--kubeconfig={kubeconfig}")))
            config = configuration(plane, kubeconfig=kubeconfig)
            programs.append(running.enter_context(moorage(plane, config=config, ready=False)))

        async with DeviceWorld(plane, gateway) as world:
            await world.furnish()
            results = await play(world, STORIES, start_schedulers, stage=DeviceStage)
            for program in programs:
                program.check_running()
    return results


@pytest.mark.parametrize("case", STORIES)
def test_both_do_the_same(case: str, results: Results) -> None:
    theirs, ours = outcome(results, case, "kube"), outcome(results, case, "ours")
    assert ours._replace(notes=theirs.notes) == theirs
