"""Pods with volumes on a real API server; kube-scheduler plays every scenario beside Moorage."""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.controlplane.schedulers import Api, Document, configuration, moorage
from tests.controlplane.servers import ControlPlane
from tests.controlplane.volume_scenarios import NO_ZONES, SCENARIOS, SHORT
from tests.controlplane.volume_worlds import World

AT_ONCE = 16
SCHEDULERS = ("moorage", "kube")
Outcomes = dict[tuple[str, str], Future[None]]


def with_profiles(plane: ControlPlane, name: str) -> Document:
    config = configuration(plane, name, name + SHORT, name + NO_ZONES)
    _, short, no_zones = config["profiles"]
    short["pluginConfig"] = [{"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 3}}]
    no_zones["plugins"] = {"multiPoint": {"disabled": [{"name": "VolumeZone"}]}}
    return config


@pytest.fixture(scope="module")
def outcomes(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    """All scenarios, played at once: most of their time is waiting."""
    api = Api(control_plane)
    for name, value in (("low", 10), ("high", 1000)):
        kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        api.create([{**kind, "metadata": {"name": name}, "value": value}])
    file: Path = tmp_path_factory.mktemp("kube") / "config.yaml"
    file.write_text(json.dumps(with_profiles(control_plane, "kube")))
    with contextlib.ExitStack() as stack:
        stack.enter_context(control_plane.kube_scheduler(f"--config={file}"))
        stack.enter_context(moorage(control_plane, config=with_profiles(control_plane, "moorage")))
        pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE))

        def play(scheduler: str, name: str) -> None:
            SCENARIOS[name](World(api, scheduler, f"{scheduler}-{name}"))

        yield {
            (scheduler, name): pool.submit(play, scheduler, name)
            for name in SCENARIOS
            for scheduler in SCHEDULERS
        }


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_scenario(outcomes: Outcomes, scheduler: str, name: str) -> None:
    outcomes[scheduler, name].result()
