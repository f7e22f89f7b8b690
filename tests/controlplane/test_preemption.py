"""More important pods take the room of others: whom, how it is told, and that nobody else takes it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.controlplane.schedulers import Api, Document, Moorage, condition, moorage, node, pod
from tests.controlplane.servers import ControlPlane

SCHEDULERS = {"kube": "default-scheduler", "moorage": "moorage"}
PRIORITIES = {"low": 10, "middle": 50, "high": 1000}
PODS = "/api/v1/namespaces/default/pods"


class Victim(NamedTuple):
    """A pod that runs on a node before the preemptor comes."""

    node: str
    name: str
    cpu: str = "4"
    priority: str = "low"
    labels: dict[str, str] = {}
    started: str = "2026-01-01T00:00:00Z"


class Scenario(NamedTuple):
    running: list[Victim]
    nominated: str
    victims: set[str]
    cpu: str = "4"


GUARDED = {"guarded": "yes"}
SCENARIOS = {
    "lowest-priority": Scenario([Victim("a", "middle", priority="middle"), Victim("b", "low")], "b", {"low"}),
    "no-more-than-needed": Scenario(
        [Victim("a", "small", cpu="1"), Victim("a", "large", cpu="3", priority="middle")], "a", {"small"}, "1"
    ),
    "fewest-victims": Scenario(
        [Victim("a", "one", cpu="2"), Victim("a", "two", cpu="2"), Victim("b", "only")], "b", {"only"}
    ),
    "latest-start": Scenario(
        [Victim("a", "old"), Victim("b", "young", started="2026-01-02T00:00:00Z")], "b", {"young"}
    ),
    "guarded": Scenario([Victim("a", "guarded", labels=GUARDED), Victim("b", "free")], "b", {"free"}),
    "guarded-but-less-important": Scenario(
        [Victim("a", "guarded", labels=GUARDED), Victim("b", "free", priority="middle")], "b", {"free"}
    ),
    "no-way-around": Scenario([Victim("a", "guarded", labels=GUARDED)], "a", {"guarded"}),
}
CLUSTER: list[Document] = [
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in PRIORITIES.items()
    ),
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guard", "namespace": "default"},
        "spec": {"minAvailable": "100%", "selector": {"matchLabels": GUARDED}},
    },
]


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create(CLUSTER)
    return opened


@pytest.fixture(scope="module")
def ours(control_plane: ControlPlane) -> Iterator[Moorage]:
    """Moorage, with kube-scheduler beside it; each has the scenarios on nodes of its own."""
    with control_plane.kube_scheduler(), moorage(control_plane) as process:
        yield process


def prepare(api: Api, pool: str, running: list[Victim]) -> None:
    names = {victim.node for victim in running}
    api.create(node(f"{name}-{pool}", cpu="4", labels={"pool": pool}) for name in sorted(names))
    api.create(
        pod(
            f"{victim.name}-{pool}",
            labels=victim.labels,
            requests={"cpu": victim.cpu},
            priorityClassName=victim.priority,
            nodeName=f"{victim.node}-{pool}",
        )
        for victim in running
    )
    for victim in running:
        path = f"{PODS}/{victim.name}-{pool}/status"
        document = api.request("GET", path)
        document["status"].update(phase="Running", startTime=victim.started)
        api.request("PUT", path, document)


def preemptor(pool: str, who: str, cpu: str) -> Document:
    return pod(
        f"preemptor-{pool}",
        scheduler=SCHEDULERS[who],
        requests={"cpu": cpu},
        nodeSelector={"pool": pool},
        priorityClassName="high",
    )


class Result(NamedTuple):
    nominated: str
    victims: set[str]
    conditions: list[Document]
    events: list[Document]


POOLS = {(case, who): f"{case}-{who}" for case in SCENARIOS for who in SCHEDULERS}


@pytest.fixture(scope="module")
def results(api: Api, ours: Moorage) -> dict[tuple[str, str], Result]:
    """What both schedulers did in all scenarios, up to where the victims are on their way out."""
    for (case, _), pool in POOLS.items():
        prepare(api, pool, SCENARIOS[case].running)
    api.create(preemptor(pool, who, SCENARIOS[case].cpu) for (case, who), pool in POOLS.items())

    def complete() -> dict[tuple[str, str], Result] | None:
        pods, events = api.pods(), api.events("Preempted")
        found = {key: result(pool, pods, events) for key, pool in POOLS.items()}
        done = all(each.nominated and each.victims and each.events for each in found.values())
        return found if done else None

    found: dict[tuple[str, str], Result] = ours.wait_until("preemption everywhere", complete)
    return found


def result(pool: str, pods: dict[str, Document], events: list[Document]) -> Result:
    preemptor = pods[f"preemptor-{pool}"]
    gone = [
        each
        for name, each in pods.items()
        if name.endswith(f"-{pool}") and "deletionTimestamp" in each["metadata"]
    ]
    of_pool = [event for event in events if event["involvedObject"]["name"].endswith(f"-{pool}")]
    fields = ("type", "reason", "action", "related", "message")
    told = [{key: event[key] for key in fields if key in event} for event in of_pool]
    return Result(
        preemptor["status"].get("nominatedNodeName", "").removesuffix(f"-{pool}"),
        {each["metadata"]["name"].removesuffix(f"-{pool}") for each in gone},
        [_masked(condition(each, "DisruptionTarget"), pool, preemptor) for each in gone],
        [_masked(each, pool, preemptor) for each in told],
    )


def _masked(said: Document, pool: str, preemptor: Document) -> Document:
    """The words without what must differ between the schedulers."""
    masks = {
        pool: "POOL",
        preemptor["metadata"]["uid"]: "UID",
        f"{preemptor['spec']['schedulerName']}:": "SCHEDULER:",
    }

    def masked(value: Any) -> Any:
        for what, mask in masks.items():
            value = value.replace(what, mask) if isinstance(value, str) else value
        return value

    return {key: masked(value) for key, value in said.items()}


@pytest.mark.parametrize("case", SCENARIOS)
def test_the_choice_is_kube_schedulers(case: str, results: dict[tuple[str, str], Result]) -> None:
    kube, mine = results[case, "kube"], results[case, "moorage"]
    assert mine == kube
    assert (mine.nominated, mine.victims) == (SCENARIOS[case].nominated, SCENARIOS[case].victims)


def test_the_victim_is_told(results: dict[tuple[str, str], Result]) -> None:
    mine = results["lowest-priority", "moorage"]
    assert mine.conditions == [
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": "SCHEDULER: preempting to accommodate a higher priority pod",
            "observedGeneration": 1,
        }
    ]
    [event] = mine.events
    assert event["message"] == "Preempted by pod UID on node b-POOL"
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Preempted", "Preempting")


def test_the_preemptors_come_to_their_nodes(
    api: Api, ours: Moorage, results: dict[tuple[str, str], Result]
) -> None:
    api.delete(
        *(f"{PODS}/{victim}-{POOLS[key]}" for key, found in results.items() for victim in found.victims)
    )
    expected = {
        f"preemptor-{pool}": f"{SCENARIOS[case].nominated}-{pool}" for (case, _), pool in POOLS.items()
    }
    ours.wait_until("the binds", lambda: api.bound().items() >= expected.items())
    pods = api.pods()
    assert [name for name in expected if "nominatedNodeName" in pods[name]["status"]] == []


def test_nobody_less_important_takes_the_room(api: Api, ours: Moorage) -> None:
    """Half of it is free already; it stays so until the rest is."""
    pools = {who: f"room-{who}" for who in SCHEDULERS}
    for who, pool in pools.items():
        prepare(api, pool, [Victim("a", "first", cpu="2"), Victim("a", "second", cpu="2")])
        api.create([preemptor(pool, who, "4")])
    gone = [f"{name}-{pool}" for pool in pools.values() for name in ("first", "second")]
    ours.wait_until(
        "preemption", lambda: all("deletionTimestamp" in api.pod(name)["metadata"] for name in gone)
    )
    api.delete(*(f"{PODS}/first-{pool}" for pool in pools.values()))
    api.create(
        pod(f"thief-{pool}", scheduler=SCHEDULERS[who], requests={"cpu": "1"}, nodeSelector={"pool": pool})
        for who, pool in pools.items()
    )
    thieves = [f"thief-{pool}" for pool in pools.values()]
    ours.wait_until("the refusals", lambda: all(condition(api.pod(name)) for name in thieves))
    theirs, mine = (condition(api.pod(name)) for name in thieves)
    assert mine == theirs
    assert mine["reason"] == "Unschedulable"
    api.delete(*(f"{PODS}/second-{pool}" for pool in pools.values()))
    expected = {f"preemptor-{pool}": f"a-{pool}" for pool in pools.values()}
    ours.wait_until("the binds", lambda: api.bound().items() >= expected.items())
    assert api.bound().keys().isdisjoint(thieves)
