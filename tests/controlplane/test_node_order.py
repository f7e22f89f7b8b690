"""The order in which nodes are looked at, when nodes come and go, beside kube-scheduler.

Without scores the first node that fits is taken and the next search begins behind it, so that a row of pods
shows the order; where it begins depends on earlier attempts. Nodes come one by one while both run, for those
that are there at the start stand in any order. There is one worker, as with several kube-scheduler's order
depends on which is faster.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.schedulers import Api, Moorage, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane

ZONES = {"a": "1", "b": "1", "c": "2", "d": "2", "e": ""}
SCHEDULERS = ("kube", "moorage")


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane)


def zoned(name: str, **labels: str) -> dict[str, object]:
    return node(name, labels={"topology.kubernetes.io/zone": ZONES.get(name, "1"), **labels})


@pytest.fixture(scope="module")
def ours(
    control_plane: ControlPlane, api: Api, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Moorage]:
    configs = {}
    for name in SCHEDULERS:
        configs[name] = configuration(control_plane, name)
        configs[name]["parallelism"] = 1
        configs[name]["profiles"][0]["plugins"] = {"score": {"disabled": [{"name": "*"}]}}
    file = Path(tmp_path_factory.mktemp("kube")) / "config.json"
    file.write_text(json.dumps(configs["kube"]))
    with (
        control_plane.kube_scheduler(f"--config={file}"),
        moorage(control_plane, config=configs["moorage"]) as process,
    ):
        api.create([zoned("a", first="yes")])
        appeared(api, process, "first")
        for name in "bcd":
            api.create([zoned(name)])
        api.create([zoned("e", last="yes")])
        appeared(api, process, "last")
        yield process


def looked_at(api: Api, ours: Moorage, prefix: str) -> dict[str, str]:
    """The nodes of a row of pods that come one after the other, told from node c on, by scheduler."""
    found = dict.fromkeys(SCHEDULERS, "")
    for number in range(len(ZONES)):
        names = {name: f"{prefix}-{number}-{name}" for name in SCHEDULERS}
        api.create(pod(names[name], scheduler=name) for name in SCHEDULERS)
        all_bound(api, ours, set(names.values()))
        bound = api.bound()
        found = {name: found[name] + bound[names[name]] for name in SCHEDULERS}
    return {name: row[row.find("c") :] + row[: row.find("c")] for name, row in found.items()}


def all_bound(api: Api, ours: Moorage, pods: set[str]) -> None:
    ours.wait_until(f"the binds of {sorted(pods)}", lambda: api.bound().keys() >= pods)


def waiting_for(api: Api, label: str) -> set[str]:
    """A pod for each scheduler that needs a node with a label."""
    names = {name: f"{label}-{name}" for name in SCHEDULERS}
    api.create(pod(names[name], scheduler=name, nodeSelector={label: "yes"}) for name in SCHEDULERS)
    return set(names.values())


def appeared(api: Api, ours: Moorage, label: str) -> None:
    """Returns when both schedulers know a node with a label."""
    all_bound(api, ours, waiting_for(api, label))


def test_a_node_that_comes_back_at_once_keeps_its_place(api: Api, ours: Moorage) -> None:
    assert looked_at(api, ours, "row-1") == dict.fromkeys(SCHEDULERS, "cebda")

    pods = waiting_for(api, "back")
    ours.wait_until("the refusals", lambda: all(condition(api.pod(each)) for each in pods))
    api.delete("/api/v1/nodes/a")
    api.create([zoned("a", back="yes")])
    all_bound(api, ours, pods)
    # Nothing was tried while it was away.
    assert looked_at(api, ours, "row-2") == dict.fromkeys(SCHEDULERS, "cebda")

    api.delete("/api/v1/nodes/d")
    api.create([zoned("f", new="yes")])
    appeared(api, ours, "new")
    # When others come and go, it stands behind those of its zone.
    assert looked_at(api, ours, "row-3") == dict.fromkeys(SCHEDULERS, "ceafb")
