"""PodGroups with their feature gates on: kube-scheduler and Moorage do the same with the same groups."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.schedulers import Api, Document, moorage, node, pod
from tests.controlplane.servers import ControlPlane, ControlPlaneError, wait_for

GATES = "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true"
SCHEDULERS = {"kube": "default-scheduler", "ours": "moorage"}
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
HIGH = "high"
PLACE, RACK = "example.com/place", "example.com/rack"


class Case(NamedTuple):
    """A group whose pods ask for a core each, and the nodes that only they may use, by rack."""

    minimum: int
    """0 for a group that is no gang, -1 for pods without a group."""
    pods: int
    racks: dict[str, tuple[int, ...]]
    """The cores of each node."""
    stays_in_rack: bool = False
    taken: int = 0
    """So many nodes have a pod that is less important."""


CASES = {
    "fits": Case(3, 3, {"a": (3,)}),
    "fits-on-several-nodes": Case(3, 3, {"a": (1, 1), "b": (1,)}),
    "does-not-fit": Case(3, 3, {"a": (2,)}),
    "more-than-it-needs": Case(2, 4, {"a": (3,)}),
    "basic": Case(0, 2, {"a": (1,)}),
    "basic-that-does-not-fit": Case(0, 2, {"a": ()}),
    "too-few-pods": Case(3, 2, {"a": (3,)}),
    "no-group": Case(-1, 2, {"a": (3,)}),
    "one-rack": Case(3, 3, {"a": (2,), "b": (2, 1)}, stays_in_rack=True),
    "most-in-one-rack": Case(1, 3, {"a": (1,), "b": (3,), "c": (2,)}, stays_in_rack=True),
    "no-rack": Case(3, 3, {"a": (2,)}, stays_in_rack=True),
    "no-label": Case(1, 1, {"": (2,)}, stays_in_rack=True),
    "takes-room": Case(2, 2, {"a": (1, 1, 1)}, taken=2),
}
GATED = ("too-few-pods", "no-group")


class Outcome(NamedTuple):
    pods: list[tuple[str, list[Document]]]
    """Of each pod its node and its conditions; which of like pods gets which is not asked."""
    group: list[Document]
    """The conditions of the group."""
    victims: list[list[Document]]
    """The conditions of those that have to go."""


@pytest.fixture(scope="module", params=["", ",WorkloadAwarePreemption=true"], ids=["", "preemption"])
def outcomes(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config
) -> Iterator[dict[tuple[str, str], Outcome]]:
    served = "--runtime-config=scheduling.k8s.io/v1alpha2=true"
    switched = f"--feature-gates={GATES}{request.param}"
    flags = (switched, served)
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(programs_for(pytestconfig), apiserver_flags=flags))
        api = Api(plane)
        head = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        api.create([{**head, "metadata": {"name": HIGH}, "value": 1000}])
        for who in SCHEDULERS:
            for name, case in CASES.items():
                _create(api, name, case, who)
        programs = [
            stack.enter_context(plane.kube_scheduler(switched)),
            stack.enter_context(moorage(plane, switched, ready=False)),
        ]
        wait_for("a decision about every group", lambda: _are_decided(api), seconds=60.0)
        with contextlib.suppress(ControlPlaneError):  # the tests tell what differs
            # While victims go, what is said of those who wait for it changes with the next attempt.
            wait_for("the same", lambda: _are_alike(api), seconds=30.0)
        for program in programs:
            program.check_running()
        yield {(name, who): _outcome(api, name, who) for name in CASES for who in SCHEDULERS}


def _create(api: Api, name: str, case: Case, who: str) -> None:
    whole, rack_label = f"{name}-{who}", f"{RACK}-{name}-{who}"
    for rack, sizes in case.racks.items():
        for place, cores in enumerate(sizes):
            labels = {PLACE: whole, **({rack_label: rack} if rack else {})}
            api.create([node(f"{whole}-{rack}{place}", cpu=str(cores), labels=labels)])
    if case.minimum >= 0:
        policy: Document = {"gang": {"minCount": case.minimum}} if case.minimum else {"basic": {}}
        spec: Document = {"schedulingPolicy": policy}
        if case.stays_in_rack:
            spec["schedulingConstraints"] = {"topology": [{"key": rack_label}]}
        group = {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "spec": spec}
        if case.taken:
            spec["priorityClassName"] = HIGH
        api.request("POST", GROUPS, {**group, "metadata": {"name": whole}})
    api.create(
        pod(f"{whole}-low-{place}", requests={"cpu": "1"}, nodeName=f"{whole}-a{place}")
        for place in range(case.taken)
    )
    important: dict[str, Any] = {"priorityClassName": HIGH} if case.taken else {}
    api.create(
        pod(
            f"{whole}-{place}",
            requests={"cpu": "1"},
            scheduler=SCHEDULERS[who],
            nodeSelector={PLACE: whole},
            schedulingGroup={"podGroupName": whole},
            **important,
        )
        for place in range(case.pods)
    )


def _are_decided(api: Api) -> bool:
    groups = api.request("GET", GROUPS)["items"]
    undecided = [each for each in groups if not each["status"].get("conditions")]
    if len(undecided) != sum(name == "too-few-pods" for name in CASES) * len(SCHEDULERS):
        return False
    # What becomes of pods is written before, but apart from what is said of their group.
    gated = tuple(f"{name}-{who}-" for name in GATED for who in SCHEDULERS)
    pods = (each for name, each in api.pods().items() if not name.startswith(gated))
    return all(each["spec"].get("nodeName") or each["status"].get("conditions") for each in pods)


def _are_alike(api: Api) -> bool:
    return all(_outcome(api, name, "ours") == _outcome(api, name, "kube") for name in CASES)


def _outcome(api: Api, name: str, who: str) -> Outcome:
    whole = f"{name}-{who}"
    pods = [each for key, each in api.pods().items() if key.startswith(f"{whole}-")]
    seen = [
        (
            str(each["spec"].get("nodeName", "")).replace(whole, name),
            _timeless(each["status"].get("conditions") or []),
        )
        for each in pods
        if each["metadata"]["name"].removeprefix(f"{whole}-").isdecimal()
    ]
    groups = {each["metadata"]["name"]: each for each in api.request("GET", GROUPS)["items"]}
    conditions = groups[whole]["status"].get("conditions") or [] if whole in groups else []
    going = [each for each in pods if each["metadata"].get("deletionTimestamp")]
    victims = [_timeless(each["status"].get("conditions") or [], SCHEDULERS[who]) for each in going]
    return Outcome(sorted(seen, key=str), _timeless(conditions), victims)


def _timeless(conditions: list[Document], scheduler: str = "") -> list[Document]:
    """Without times, and without the name of the scheduler if one is given."""
    times = ("lastProbeTime", "lastTransitionTime")
    found = [{key: value for key, value in each.items() if key not in times} for each in conditions]
    for each in found if scheduler else ():
        each["message"] = str(each.get("message", "")).replace(scheduler, "SCHEDULER")
    return found


@pytest.mark.parametrize("case", CASES)
def test_both_do_the_same(case: str, outcomes: dict[tuple[str, str], Any]) -> None:
    assert outcomes[case, "ours"] == outcomes[case, "kube"]


def test_what_fits_is_bound(outcomes: dict[tuple[str, str], Outcome]) -> None:
    placed = {case: sum(bool(node) for node, _ in outcomes[case, "ours"].pods) for case in CASES}
    assert placed == {
        **dict.fromkeys(CASES, 0),
        **dict.fromkeys(("fits", "fits-on-several-nodes", "one-rack", "most-in-one-rack"), 3),
        "more-than-it-needs": 3,
        "basic": 1,
    }
    assert len(outcomes["takes-room", "ours"].victims) == 1
