"""Several profiles in one process, and pods that are not its own."""

from collections.abc import Iterator

import pytest

from tests.controlplane.schedulers import Api, Moorage, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane

ANNOTATION = "scheduler.alpha.kubernetes.io/name"
TEN = [f"{number:02}" for number in range(10)]


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create([node("empty", cpu="32"), node("busy", cpu="32")])
    return opened


@pytest.fixture(autouse=True)
def load_and_no_pods_left(api: Api) -> Iterator[None]:
    api.create([pod("load", requests={"cpu": "16", "memory": "32Gi"}, nodeName="busy")])
    yield
    api.delete_all("pods")


def pass_by(api: Api, process: Moorage) -> None:
    """Has a pod bound, so that whatever was created before has been seen."""
    api.create([pod("marker")])
    process.wait_until("the marker's bind", lambda: "marker" in api.bound())


def test_every_profile_decides_in_its_own_way(control_plane: ControlPlane, api: Api) -> None:
    config = configuration(control_plane, "spreading", "packing")
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    config["profiles"][1]["pluginConfig"] = [
        {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}},
    ]
    config["profiles"][1]["plugins"] = {
        "score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}, {"name": "PodTopologySpread"}]}
    }
    small = {"cpu": "100m", "memory": "64Mi"}
    with moorage(control_plane, config=config) as process:
        api.create(
            pod(f"{name}-{number}", scheduler=name, requests=small)
            for name in ("spreading", "packing")
            for number in TEN
        )
        process.wait_until("all binds", lambda: len(api.bound()) == 21)
        where = api.bound()
        assert {where[f"spreading-{number}"] for number in TEN} == {"empty"}
        assert {where[f"packing-{number}"] for number in TEN} == {"busy"}
        process.wait_until("all events", lambda: len(api.events("Scheduled")) >= 20)
        for event in api.events("Scheduled"):
            profile, _, _ = event["involvedObject"]["name"].partition("-")
            assert event["reportingComponent"] == profile
            assert event["reportingInstance"].startswith(f"{profile}-")


def test_pods_of_others_are_left_alone(control_plane: ControlPlane, api: Api) -> None:
    others = {"default-scheduler": "of-the-default", "somebody-else": "of-somebody-else"}
    api.create(pod(name, scheduler=scheduler) for scheduler, name in others.items())
    with moorage(control_plane) as process:
        api.create([pod("too-large-of-somebody", scheduler="somebody-else", requests={"cpu": "900"})])
        pass_by(api, process)
        for name in (*others.values(), "too-large-of-somebody"):
            assert "nodeName" not in api.pod(name)["spec"]
            assert condition(api.pod(name)) == {}
            assert api.events("FailedScheduling", name) == []


def annotated(api: Api) -> None:
    api.create(
        [
            pod("ours", scheduler="default-scheduler", annotations={ANNOTATION: "moorage"}),
            pod("theirs", scheduler="default-scheduler", annotations={ANNOTATION: "somebody-else"}),
            pod("large", scheduler="default-scheduler", annotations={ANNOTATION: "moorage"}, requests=LARGE),
        ]
    )


LARGE = {"cpu": "900"}
WARNING = f'"The annotation {ANNOTATION} has no effect; set spec.schedulerName" pod="default/ours"'


@pytest.mark.parametrize(("mode", "warnings"), [("warn", 1), ("ignore", 0)])
def test_the_old_annotation_has_no_effect(
    mode: str, warnings: int, control_plane: ControlPlane, api: Api
) -> None:
    annotated(api)
    flags = [] if mode == "warn" else [f"--legacy-scheduler-annotation={mode}"]
    with moorage(control_plane, *flags) as process:
        pass_by(api, process)
        assert api.bound().keys() == {"load", "marker"}
        assert process.log_text().count(WARNING) == warnings
        assert condition(api.pod("large")) == {}


def test_the_old_annotation_is_honoured(control_plane: ControlPlane, api: Api) -> None:
    annotated(api)
    with moorage(control_plane, "--legacy-scheduler-annotation=honor") as process:
        pass_by(api, process)
        process.wait_until("the bind", lambda: "ours" in api.bound())
        process.wait_until("the refusal", lambda: condition(api.pod("large")))
        assert condition(api.pod("large"))["reason"] == "Unschedulable"
        assert api.bound().keys() == {"load", "marker", "ours"}
        assert WARNING not in process.log_text()
        assert api.pod("ours")["spec"]["schedulerName"] == "default-scheduler"
