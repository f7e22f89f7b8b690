"""The same two hundred pods, once under kube-scheduler and once under Moorage in its place."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from tests.controlplane.schedulers import Api, Document, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane, Program, wait_for

ZONE, HOST_NAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
DEDICATED = [{"key": "dedicated", "operator": "Exists"}]
SMALL = {"cpu": "100m", "memory": "64Mi"}
PODS = 200


def nodes() -> list[Document]:
    taints = {"taints": [{"key": "dedicated", "value": "yes", "effect": "NoSchedule"}]}
    ordinary = [node(f"node-{number:02}", labels={ZONE: "abc"[number % 3]}) for number in range(30)]
    dedicated = [
        node(f"dedicated-{number}", labels={"dedicated": "yes", ZONE: "d"}, spec=taints)
        for number in range(3)
    ]
    return [*ordinary, *dedicated, node("gpu", labels={ZONE: "a"}, more={"example.com/gpu": "2"})]


def required(kind: str, app: str, key: str) -> Document:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def preferred(app: str, key: str) -> Document:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}
    rule = [{"weight": 50, "podAffinityTerm": term}]
    return {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": rule}}


def spread(when: str) -> list[Document]:
    selector = {"matchLabels": {"app": "spread"}}
    rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": when, "labelSelector": selector}
    return [{**rule, "nodeTaintsPolicy": "Honor"}]


class Kind(NamedTuple):
    """So many pods of a form, and how many of them find a place."""

    number: int
    fit: int
    form: dict[str, Any]


# Where there is room for some, it is not chance that decides which.
FIRST: Document = {"priorityClassName": "system-cluster-critical"}
ENEMY: Document = {"labels": {"app": "enemy"}, "affinity": required("podAntiAffinity", "enemy", ZONE)}
GRAPHICS: Document = {"requests": {"example.com/gpu": "1"}}

KINDS = {
    "affine": Kind(12, 12, {"affinity": preferred("spread", ZONE)}),
    "alone": Kind(
        10, 10, {"labels": {"app": "alone"}, "affinity": required("podAntiAffinity", "alone", HOST_NAME)}
    ),
    "big": Kind(10, 0, {"requests": {"cpu": "100"}}),
    "both": Kind(6, 0, {"requests": {"cpu": "100", "memory": "900Gi"}, "nodeSelector": {ZONE: "a"}}),
    "choosy": Kind(16, 16, {"nodeSelector": {ZONE: "b"}}),
    "dedicated": Kind(15, 15, {"nodeSelector": {"dedicated": "yes"}, "tolerations": DEDICATED}),
    "enemies": Kind(3, 3, {**ENEMY, **FIRST}),
    "enemy": Kind(2, 0, ENEMY),
    # They come before the one they follow.
    "follower": Kind(6, 6, {"affinity": required("podAffinity", "leader", ZONE)}),
    "gated": Kind(3, 0, {"schedulingGates": [{"name": "example.com/wait"}]}),
    "graphic": Kind(2, 2, {**GRAPHICS, **FIRST}),
    "graphics": Kind(4, 0, GRAPHICS),
    "important": Kind(4, 4, FIRST),
    "leader": Kind(1, 1, {"labels": {"app": "leader"}}),
    "lonely": Kind(5, 0, {"affinity": required("podAffinity", "absent", ZONE)}),
    "lost": Kind(8, 0, {"nodeSelector": {"disk": "tape"}}),
    "plain": Kind(49, 49, {}),
    "port": Kind(8, 8, {"ports": [80]}),
    "refused": Kind(6, 0, {"nodeSelector": {"dedicated": "yes"}}),
    "spread": Kind(
        24, 24, {"labels": {"app": "spread"}, "topologySpreadConstraints": spread("DoNotSchedule")}
    ),
    "tended": Kind(6, 6, {"topologySpreadConstraints": spread("ScheduleAnyway")}),
}
FITTING = sum(kind.fit for kind in KINDS.values())


def pods() -> list[Document]:
    return [
        pod(f"{name}-{number:02}", **{"scheduler": "default-scheduler", "requests": SMALL, **kind.form})
        for name, kind in KINDS.items()
        for number in range(kind.number)
    ]


class Outcome(NamedTuple):
    bound: set[str]
    waiting: dict[str, Document]


def outcome(api: Api) -> Outcome | None:
    """What has become of the pods; None while it is not decided for all of them."""
    found = api.pods()
    bound = {name for name, each in found.items() if each["spec"].get("nodeName")}
    waiting = {name: condition(each) for name, each in found.items() if name not in bound}
    return Outcome(bound, waiting) if len(bound) == FITTING and all(waiting.values()) else None


@pytest.fixture(scope="module")
def outcomes(control_plane: ControlPlane) -> dict[str, Outcome]:
    """Of both schedulers, one after the other on the same cluster."""
    api = Api(control_plane)
    config = configuration(control_plane, "default-scheduler")
    schedulers: dict[str, Callable[[], Any]] = {
        "kube": control_plane.kube_scheduler,
        "moorage": lambda: moorage(control_plane, config=config, ready=False),
    }
    found: dict[str, Outcome] = {}
    for name, scheduler in schedulers.items():
        api.create(nodes())
        api.create(pods())
        with scheduler() as process:
            assert isinstance(process, Program)
            decided = wait_for(f"the decisions of {name}", lambda: outcome(api), seconds=60)
            assert decided is not None
            process.check_running()
        found[name] = decided
        api.delete_all("pods", "nodes")
    return found


def test_there_are_two_hundred() -> None:
    assert sum(kind.number for kind in KINDS.values()) == PODS


def test_the_same_pods_are_bound(outcomes: dict[str, Outcome]) -> None:
    assert outcomes["moorage"].bound == outcomes["kube"].bound


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.fit < kind.number])
def test_the_others_wait_for_the_same_reasons(kind: str, outcomes: dict[str, Outcome]) -> None:
    theirs, ours = (
        {name: said for name, said in outcomes[who].waiting.items() if name.startswith(f"{kind}-")}
        for who in ("kube", "moorage")
    )
    assert ours == theirs
    assert len(ours) == KINDS[kind].number - KINDS[kind].fit
