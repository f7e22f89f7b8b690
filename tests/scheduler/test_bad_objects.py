"""Objects that no API server should send: each fails on its own with a clear reason, and the others go on."""

from __future__ import annotations

import asyncio
import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from moorage.api.decoding import DecodeError, from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.simulation import Result, Simulation

Document = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
LONG = "x" * 65536


def simulation(*nodes: Node) -> Simulation:
    registry = in_tree_registry()
    made = Simulation(default_configuration(registry), registry)
    for node in nodes:
        made.add(node)
    return made


def schedule(made: Simulation, *pods: Pod) -> Result:
    return asyncio.run(made.run(pods))


def documents(*values: Document) -> list[Document]:
    return list(values)


def affinity(kind: str, *terms: Document) -> Document:
    return {kind: {REQUIRED: list(terms)}}


def node_affinity(**requirement: Any) -> Document:
    terms = documents({"matchExpressions": [requirement]})
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def spread(**fields: Any) -> list[Document]:
    whole = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**whole, "labelSelector": {}, **fields}]


def selector(**requirement: Any) -> Document:
    return {"matchExpressions": [requirement]}


def term(wanted: Document) -> Document:
    return {"topologyKey": "kubernetes.io/hostname", "labelSelector": wanted}


# Pods

PENDING: dict[str, tuple[Document, str]] = {
    "quantity": ({"cpu": "lots"}, "'lots' is not a quantity: use a number with one of the suffixes"),
    "quantity of a pod": (
        {"resources": {"requests": {"memory": "1 Gi"}}},
        "'1 Gi' is not a quantity",
    ),
    "overhead": ({"overhead": {"cpu": "1.2.3"}}, "'1.2.3' is not a quantity"),
    "not a number": ({"cpu": float("nan")}, "'nan' is not a quantity"),
    "all of 64 bits": ({"memory": 2**63 - 1}, "0/1 nodes are available: 1 Insufficient memory."),
    "beyond any number": ({"memory": "1e999"}, "'1e999' is not a quantity: its exponent is out of range"),
    "pod affinity": (
        {"affinity": affinity("podAffinity", term(selector(key="a", operator="Near")))},
        "'Near' is not a valid selector operator, use one of In, NotIn, Exists, DoesNotExist",
    ),
    "pod anti-affinity": (
        {"affinity": affinity("podAntiAffinity", term(selector(key="a b", operator="Exists")))},
        "'a b' is not a valid label key",
    ),
    "spread": (
        {"topologySpreadConstraints": spread(labelSelector=selector(key="a", operator="In"))},
        "a: In needs at least one value",
    ),
    "long value in a selector": (
        {"topologySpreadConstraints": spread(labelSelector={"matchLabels": {"a": LONG}})},
        "is not a valid label value",
    ),
    "node affinity": (
        {"affinity": node_affinity(key="a", operator="Close")},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    "node affinity without a number": (
        {"affinity": node_affinity(key="a", operator="Gt", values=["many"])},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    "node affinity without terms": (
        {"affinity": {"nodeAffinity": {REQUIRED: {}}}},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    "label of 64 KB in a selector": (
        {"nodeSelector": {"a": LONG}},
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
    ),
    "no such topology": (
        {"topologySpreadConstraints": spread(topologyKey="")},
        "node(s) didn't match pod topology spread constraints (missing required label)",
    ),
}


@pytest.mark.parametrize("case", PENDING)
def test_a_bad_pod_has_the_reason_in_its_condition(case: str) -> None:
    spec, message = PENDING[case]
    made = simulation(make_node("n"))
    result = schedule(made, make_pod("bad", **spec), make_pod("good"))
    assert message in result.pending["default/bad"]
    assert len(result.pending["default/bad"]) < 2000
    assert result.placed == {"default/good": "n"}
    condition = made.client.pods["default/bad"].condition("PodScheduled")
    assert condition is not None
    rejected = result.pending["default/bad"].startswith("0/1 nodes are available")
    assert (condition.status, condition.reason) == (
        "False",
        "Unschedulable" if rejected else "SchedulerError",
    )


STRANGE: dict[str, Document] = {
    "no containers": {"containers": []},
    "negative request": {"cpu": "-1"},
    "unknown toleration operator": {
        "tolerations": [{"key": "a", "operator": "Maybe", "effect": "Sometimes"}]
    },
    "unknown whenUnsatisfiable": {"topologySpreadConstraints": spread(whenUnsatisfiable="Shrug")},
    "unknown policy": {"topologySpreadConstraints": spread(nodeAffinityPolicy="?", nodeTaintsPolicy="?")},
    "negative skew weight": {
        "topologySpreadConstraints": spread(whenUnsatisfiable="ScheduleAnyway", maxSkew=-5)
    },
    "unknown preemption policy": {"preemptionPolicy": "Sometimes"},
    "unknown port protocol": {
        "containers": documents({"ports": [{"hostPort": 80, "protocol": "PIGEON"}, {"hostPort": -1}]})
    },
    "nulls everywhere": dict.fromkeys(
        (
            "affinity",
            "containers",
            "initContainers",
            "nodeName",
            "nodeSelector",
            "overhead",
            "priority",
            "resources",
            "tolerations",
            "topologySpreadConstraints",
            "volumes",
        )
    ),
    "nulls inside": {
        "containers": [{"name": None, "resources": {"requests": {"cpu": None}}, "ports": None}],
        "affinity": {"nodeAffinity": None, "podAffinity": {REQUIRED: None, PREFERRED: None}},
        "tolerations": [{"key": None, "operator": "Exists"}],
    },
    "unknown fields": {"containers": [{"name": "c", "mood": "good"}]},
    "nomination to nowhere": {"status": {"nominatedNodeName": "gone"}},
    "label of 64 KB": {"labels": {"a": LONG, "": ""}},
}


@pytest.mark.parametrize("case", STRANGE)
def test_a_strange_pod_is_scheduled_all_the_same(case: str) -> None:
    result = schedule(simulation(make_node("n")), make_pod("strange", **STRANGE[case]), make_pod("good"))
    assert result.placed == {"default/strange": "n", "default/good": "n"}


def test_a_field_of_a_later_release_does_no_harm() -> None:
    document = make_pod("strange").raw
    document["spec"]["whatever"] = {"deep": [1, None]}
    result = schedule(simulation(make_node("n")), from_document(Pod, document))
    assert result.placed == {"default/strange": "n"}


def test_a_pod_with_nothing_in_it() -> None:
    made = simulation(make_node("n"))
    result = schedule(made, from_document(Pod, {}), make_pod("good"))
    assert result.pending == {"": "pod  has no uid, so can't be assumed"}
    assert result.placed == {"default/good": "n"}


@pytest.mark.parametrize(
    "spec",
    [
        {"priority": 2**31},
        {"priority": "high"},
        {"topologySpreadConstraints": spread(maxSkew=2**40)},
        {"affinity": {"podAffinity": {PREFERRED: [{"weight": 2**63}]}}},
        {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": -(2**70)}]}}},
        {"containers": [{"ports": [{"hostPort": 2**31}]}]},
        {"containers": [{"resources": {"requests": {"cpu": ["1"]}}}]},
        {"tolerations": {}},
    ],
)
def test_what_does_not_fit_the_fields_is_refused_at_once(spec: Document) -> None:
    """As in Go, where numbers are 32 bits wide: nothing that is counted can run over."""
    with pytest.raises(DecodeError, match=r"Pod default/pod: .*\$\.spec"):
        make_pod(**spec)


# Nodes


@pytest.mark.parametrize(
    ("allocatable", "message"),
    [
        ({"cpu": "lots"}, "1 node(s) had an invalid allocatable: 'lots' is not a quantity"),
        ({"cpu": "-4"}, "1 Insufficient cpu"),
        ({"pods": "-1"}, "1 Too many pods"),
        ({"pods": 0}, "1 Too many pods"),
        ({"memory": None}, "1 Insufficient memory"),
    ],
)
def test_a_bad_node_takes_no_pod_and_says_why(allocatable: Document, message: str) -> None:
    bad = from_document(Node, {**make_node("bad").raw})
    amounts = {"cpu": "4", "memory": "8Gi", "pods": 110, **allocatable}
    bad.status.allocatable = {name: amount for name, amount in amounts.items() if amount is not None}
    made = simulation(bad)
    result = schedule(made, make_pod("first", cpu=1, memory=1))
    assert message in result.pending["default/first"]
    made.add(make_node("good"))
    assert schedule(made, make_pod("second", cpu=1, memory=1)).placed == {"default/second": "good"}


NO_ALLOCATABLE: dict[str, Document] = {
    "absent": {"metadata": {"name": "bad"}},
    "null status": {"metadata": {"name": "bad"}, "status": None},
    "null allocatable": {"metadata": {"name": "bad"}, "status": {"allocatable": None}},
    "null amounts": {"metadata": {"name": "bad"}, "status": {"allocatable": {"cpu": None, "pods": None}}},
    "nulls everywhere": {
        "metadata": {"name": "bad", "labels": None, "annotations": None, "uid": None},
        "spec": {"taints": None, "unschedulable": None},
        "status": {"allocatable": None, "images": None, "conditions": None, "declaredFeatures": None},
    },
}


@pytest.mark.parametrize("case", NO_ALLOCATABLE)
def test_a_node_without_allocatable_takes_no_pod(case: str) -> None:
    made = simulation(from_document(Node, NO_ALLOCATABLE[case]))
    result = schedule(made, make_pod("first"))
    assert "1 Too many pods" in result.pending["default/first"]
    made.add(make_node("good"))
    assert schedule(made, make_pod("second")).placed == {"default/second": "good"}


@pytest.mark.parametrize(
    "node",
    [
        make_node("strange", labels={"a": LONG, "": ""}, taints=[f"{LONG}:Sometimes"]),
        make_node("strange", memory="99999999E", allocatable={"example.com/gpu": 2**80}),
        make_node("strange", images={"app": 2**62, "": -5}),
        make_node("strange", conditions=[{"type": "Mood"}], declaredFeatures=["", LONG]),
    ],
)
def test_a_strange_node_takes_pods_all_the_same(node: Node) -> None:
    made = simulation(node, make_node("good"))
    pods = [make_pod(f"p{i}", cpu=1, memory="1Gi", image="app") for i in range(4)]
    pinned = make_pod("pinned", nodeSelector={"kubernetes.io/hostname": "strange"})
    result = schedule(made, *pods, pinned)
    assert len(result.placed) == 5
    assert result.placed["default/pinned"] == "strange"


def test_a_node_that_turns_bad_and_good_again() -> None:
    node, bad = make_node("n"), make_node("n", cpu="lots")
    made = simulation(node)
    door = made.scheduler.door
    assert schedule(made, make_pod("one", cpu=1)).placed
    door.put(bad)
    assert "'lots' is not a quantity" in schedule(made, make_pod("two", cpu=1)).pending["default/two"]
    door.put(node)
    assert schedule(made, make_pod("three", cpu=1)).placed
    info = made.scheduler.state.node("n")
    assert info is not None
    assert info.requested["cpu"] >= 2000


# Updates


def test_a_waiting_pod_whose_update_is_bad() -> None:
    made = simulation(make_node("n"))
    pod, bad = make_pod("p", cpu=64), make_pod("p", cpu="lots", labels={"new": ""})
    assert "Insufficient cpu" in schedule(made, pod).pending["default/p"]
    change(made, bad)
    assert schedule(made, make_pod("good")).placed == {"default/good": "n"}
    change(made, make_pod("p", cpu=1, labels={"newer": ""}))
    asyncio.run(try_again(made))
    assert made.client.pods["default/p"].spec.node_name == "n"


def test_a_running_pod_whose_update_is_bad() -> None:
    made = simulation(make_node("n", cpu=2))
    assert schedule(made, make_pod("p", cpu=2)).placed
    waiting = make_pod("waiting", cpu=1)
    assert "Insufficient cpu" in schedule(made, waiting).pending["default/waiting"]
    change(made, make_pod("p", cpu="lots", node="n"))
    asyncio.run(try_again(made))
    assert made.client.pods["default/waiting"].spec.node_name == "n", "a bad request counts for nothing"


def test_a_waiting_pod_that_is_handed_to_another_scheduler_and_back() -> None:
    made = simulation(make_node("n"))
    assert "Insufficient cpu" in schedule(made, make_pod("p", cpu=64)).pending["default/p"]
    change(made, make_pod("p", cpu=1, scheduler="other"))
    asyncio.run(try_again(made))
    assert schedule(made, make_pod("good")).placed == {"default/good": "n"}
    assert made.scheduler.queue.get(make_pod("p")) is None
    assert made.client.pods["default/p"].spec.node_name == ""
    change(made, make_pod("p", cpu=1))
    asyncio.run(try_again(made))
    assert made.client.pods["default/p"].spec.node_name == "n"


def test_a_pod_that_changes_its_scheduler_while_it_is_tried() -> None:
    made = simulation(make_node("n"))
    made.add(make_pod("p", cpu=64))
    queued = made.scheduler.queue.pop()
    assert queued is not None
    change(made, make_pod("p", cpu=64, scheduler="other"))
    made.scheduler.attempt(queued)
    assert made.scheduler.queue.get(queued.pod) is None
    assert schedule(made, make_pod("good")).placed == {"default/good": "n"}


def test_a_pod_that_loses_its_node_or_scheduler_in_an_update() -> None:
    made = simulation(make_node("n"))
    assert schedule(made, make_pod("p")).placed
    change(made, make_pod("p", scheduler="other"))
    change(made, make_pod("p", uid="another"))
    assert schedule(made, make_pod("good")).placed == {"default/good": "n"}


def change(made: Simulation, new: Pod) -> None:
    """The watch brings a new version of a pod."""
    made.client.add(new)
    made.scheduler.door.put(new)


async def try_again(made: Simulation) -> None:
    """Lets every backoff end and has all pods tried that may fit now."""
    made.scheduler.queue.activate(list(made.client.pods.values()))
    await made.scheduler.drain()


# Anything at all


def whole_node(name: str) -> Document:
    return {
        "metadata": {
            "name": name,
            "uid": f"node-{name}",
            "labels": {"zone": f"z-{name}", "size": "7", "kubernetes.io/hostname": name},
            "annotations": {"a": "b"},
        },
        "spec": {
            "unschedulable": False,
            "taints": [
                {"key": "a", "value": "1", "effect": "NoSchedule"},
                {"key": "b", "effect": "NoExecute"},
            ],
        },
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "20", "example.com/gpu": "4"},
            "capacity": {"cpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["app"], "sizeBytes": 500_000_000}],
            "declaredFeatures": ["X"],
        },
    }


def whole_pod(name: str, number: int) -> Document:
    chosen = {"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]}
    near = {"topologyKey": "zone", "labelSelector": chosen, "namespaceSelector": {"matchLabels": {"t": "x"}}}
    near["namespaces"] = ["default"]
    far = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "z"}}}
    places = {
        "matchExpressions": [
            {"key": "zone", "operator": "NotIn", "values": ["q"]},
            {"key": "size", "operator": "Gt", "values": ["5"]},
        ],
        "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["q"]}],
    }
    hard = {
        "maxSkew": 3,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": chosen,
    }
    hard |= {"minDomains": 1, "nodeAffinityPolicy": "Honor", "nodeTaintsPolicy": "Ignore"}
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"pod-{name}",
            "resourceVersion": str(number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"app": "a", "tier": "x"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}],
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 5,
            "nodeSelector": {"size": "7"},
            "containers": [
                {
                    "name": "c",
                    "image": "app",
                    "resources": {"requests": {"cpu": "100m", "memory": "1Gi", "example.com/gpu": 1}},
                    "ports": [{"hostPort": 8000 + number, "protocol": "TCP", "hostIP": "1.2.3.4"}],
                }
            ],
            "initContainers": [{"name": "i", "restartPolicy": "Always", "image": "app"}],
            "overhead": {"cpu": "10m"},
            "resources": {"requests": {"cpu": "400m"}},
            "tolerations": [
                {"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"},
                {"key": "b", "operator": "Exists"},
            ],
            "affinity": {
                "nodeAffinity": {
                    REQUIRED: {"nodeSelectorTerms": [places]},
                    PREFERRED: [{"weight": 5, "preference": places}],
                },
                "podAffinity": {REQUIRED: [near], PREFERRED: [{"weight": 5, "podAffinityTerm": near}]},
                "podAntiAffinity": {REQUIRED: [far], PREFERRED: [{"weight": 7, "podAffinityTerm": near}]},
            },
            "topologySpreadConstraints": [hard, {**hard, "whenUnsatisfiable": "ScheduleAnyway"}],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "i", "image": {"reference": "app"}}],
        },
        "status": {
            "phase": "Pending",
            "nominatedNodeName": "n1",
            "conditions": [{"type": "PodScheduled", "status": "False", "message": "x"}],
            "containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}],
        },
    }


ANYTHING: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.5, float("nan"), float("inf")),
    *(2**31 - 1, 2**31, 2**63 - 1, 2**63, -(2**63), 2**200),
    *("", "x", "-1", "1e400", "lots", "100m", "9Ei", "\0", "é", LONG, "In", "Exists", "Gt", "DoNotSchedule"),
    *([], {}, [None], [{}], [[]], ["x"], {"a": None}, {"x": "y"}, {"requests": {"cpu": "x"}}),
]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places_in(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from places_in(item, (*path, number))


def mutated(document: Document, draw: random.Random) -> Document:
    """A copy with one or a few places deleted, emptied, replaced by anything or by what stands elsewhere."""
    changed = copy.deepcopy(document)
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        places = list(places_in(changed))
        if not places:
            break
        *way, last = draw.choice(places)
        at = found(changed, way)
        match draw.randrange(4):
            case 0:
                del at[last]
            case 1:
                at[last] = None
            case 2:
                at[last] = copy.deepcopy(draw.choice(ANYTHING))
            case _:
                at[last] = copy.deepcopy(found(changed, draw.choice(places)))
    return changed


def found(document: Any, way: Any) -> Any:
    for step in way:
        document = document[step]
    return document


class Fuzz:
    """One cluster that gets objects changed at random, with a node that only the good pods may use."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.refused = self.accepted = 0
        self.made = simulation(
            *(from_document(Node, whole_node(f"n{i}")) for i in range(3)),
            make_node("good", labels={"only": "good"}, taints=["good:NoSchedule"]),
        )

    async def run(self, steps: int) -> None:
        for number in range(steps):
            try:
                self.draw.choice(
                    (self.add_pod, self.add_pod, self.add_node, self.update_pod, self.update_node)
                )(number)
                self.accepted += 1
            except DecodeError:
                self.refused += 1
            await self.made.scheduler.drain()
        await try_again(self.made)

    def add_pod(self, number: int) -> None:
        document = whole_pod(f"p{number}", number)
        if self.draw.random() < 0.3:
            document["spec"]["nodeName"] = "n1"
        self.made.add(from_document(Pod, mutated(document, self.draw)))

    def add_node(self, number: int) -> None:
        self.made.add(from_document(Node, mutated(whole_node(f"m{number}"), self.draw)))

    def update_pod(self, number: int) -> None:
        if not self.made.client.pods:
            return
        old = self.made.client.pods[self.draw.choice(list(self.made.client.pods))]
        new = from_document(Pod, mutated(whole_pod(old.name, number), self.draw))
        if new.key == old.key:
            change(self.made, new)

    def update_node(self, number: int) -> None:
        info = self.made.scheduler.state.node("n0")
        new = from_document(Node, mutated(whole_node("n0"), self.draw))
        if info is not None and new.name == "n0":
            self.made.scheduler.door.put(new)


@pytest.mark.soak
def test_nothing_that_decodes_stops_the_scheduler(soak: bool) -> None:
    refused = accepted = 0
    for seed in range(15_000 if soak else 120):
        fuzz = Fuzz(seed)
        asyncio.run(fuzz.run(8))
        good = make_pod(
            "good",
            priority=1000,
            nodeSelector={"only": "good"},
            tolerations=documents({"key": "good", "operator": "Exists"}),
        )
        result = schedule(fuzz.made, good)
        assert result.placed == {"default/good": "good"}, (seed, result.pending)
        refused, accepted = refused + fuzz.refused, accepted + fuzz.accepted
    assert accepted > refused / 2 > 0
