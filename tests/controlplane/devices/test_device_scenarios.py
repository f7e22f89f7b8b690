"""Pods with devices on a real API server: kube-scheduler and Moorage play the same cases at once."""

import asyncio
import contextlib
import json
from pathlib import Path

import pytest

from tests.controlplane.devices import device_resources, device_scenarios, device_stories
from tests.controlplane.devices.device_scenarios import case as case_of
from tests.controlplane.devices.device_stages import DeviceStage, DeviceWorld
from tests.controlplane.devices.device_stories import SHORT
from tests.controlplane.playing import Results, outcome, play
from tests.controlplane.schedulers import Document, configuration, moorage
from tests.controlplane.servers import ControlPlane, Program
from tests.controlplane.stages import SCHEDULERS

SCENARIOS = device_scenarios.SCENARIOS | device_resources.SCENARIOS
CASES = {name: case_of(scenario) for name, scenario in SCENARIOS.items()}
CASES |= device_stories.STORIES | device_resources.STORIES


@pytest.fixture(scope="module")
def results(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What was seen of all cases under both schedulers."""
    return asyncio.run(play_all(control_plane, tmp_path_factory.mktemp("kube")))


def with_profiles(plane: ControlPlane, who: str) -> Document:
    name = SCHEDULERS[who]
    config = configuration(plane, name, name + SHORT)
    args = {"bindingTimeout": "2s"}
    config["profiles"][1]["pluginConfig"] = [{"name": "DynamicResources", "args": args}]
    return config


async def play_all(plane: ControlPlane, folder: Path) -> Results:
    with contextlib.ExitStack() as running:
        programs: list[Program] = []

        def start_schedulers() -> None:
            file = folder / "config.yaml"
            file.write_text(json.dumps(with_profiles(plane, "kube")))
            programs.append(running.enter_context(plane.kube_scheduler(f"--config={file}")))
            config = with_profiles(plane, "ours")
            programs.append(running.enter_context(moorage(plane, config=config, ready=False)))

        async with DeviceWorld(plane) as world:
            await world.furnish()
            results = await play(world, CASES, start_schedulers, stage=DeviceStage)
            for program in programs:
                program.check_running()
    return results


@pytest.mark.parametrize("case", CASES)
def test_both_do_the_same(case: str, results: Results) -> None:
    theirs, ours = outcome(results, case, "kube"), outcome(results, case, "ours")
    assert ours._replace(notes=theirs.notes) == theirs
