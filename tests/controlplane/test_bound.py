"""What a pod's owner sees: the same as from kube-scheduler, which runs beside Moorage on the same cluster."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.schedulers import Api, Document, Moorage, condition, moorage, node, pod
from tests.controlplane.servers import ControlPlane, Program

ZONE, HOST_NAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
KUBE = "default-scheduler"
SCHEDULERS = {"kube": KUBE, "moorage": "moorage"}
HIGH = [
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": 1000,
        "preemptionPolicy": policy,
    }
    for name, policy in (("high", "PreemptLowerPriority"), ("polite", "Never"))
]


def taint(effect: str) -> Document:
    return {"taints": [{"key": "dedicated", "value": "db", "effect": effect}]}


NODES = [
    node("main-1", cpu="4", memory="8Gi", labels={"pool": "main", ZONE: "a", "disk": "ssd", "size": "4"}),
    node("main-2", cpu="4", memory="8Gi", labels={"pool": "main", ZONE: "b", "disk": "hdd", "size": "8"}),
    node("tainted-1", labels={"pool": "tainted", ZONE: "c"}, spec=taint("NoSchedule")),
    node("tainted-2", labels={"pool": "tainted", ZONE: "c"}, spec=taint("NoExecute")),
    node("cordoned-1", labels={"pool": "cordoned", ZONE: "a"}, spec={"unschedulable": True}),
    node("full-1", pods="1", labels={"pool": "full", ZONE: "b"}),
    node("bare-1", cpu="2", labels={"pool": "bare"}, more={"example.com/gpu": "2"}),
]


def term(app: str, key: str) -> Document:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def pod_affinity(kind: str, app: str, key: str = HOST_NAME) -> Document:
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term(app, key)]}}


def node_affinity(what: str, key: str, operator: str, *values: str) -> Document:
    required = {what: [{"key": key, "operator": operator, "values": list(values)}]}
    terms = {"nodeSelectorTerms": [required]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def spread(key: str) -> list[Document]:
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
        }
    ]


BUSY = {"cpu": "1500m", "memory": "1Gi"}
RUNNING = [
    pod("web-1", labels={"app": "web"}, ports=[8080], requests=BUSY, nodeName="main-1"),
    pod("web-2", labels={"app": "web"}, ports=[8080], requests=BUSY, nodeName="main-2"),
    pod("hermit-1", affinity=pod_affinity("podAntiAffinity", "loud"), nodeName="main-1"),
    pod("hermit-2", affinity=pod_affinity("podAntiAffinity", "loud", ZONE), nodeName="main-2"),
    pod("sitter", nodeName="full-1"),
]
LOT = {"cpu": "100"}
MAIN = {"pool": "main"}
TOLERATES = [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]
CASES: dict[str, dict[str, Any]] = {
    "cpu": {"requests": LOT},
    "cpu-of-some": {"requests": {"cpu": "3"}, "nodeSelector": MAIN},
    "memory": {"requests": {"memory": "900Gi"}},
    "several-resources": {"requests": {"cpu": "50", "memory": "900Gi", "ephemeral-storage": "1Gi"}},
    "extended-resource": {"requests": {"example.com/gpu": "3"}},
    "unknown-resource": {"requests": {"example.com/absent": "1"}},
    "taints": {"nodeSelector": {"pool": "tainted"}},
    "one-taint-tolerated": {"nodeSelector": {"pool": "tainted"}, "tolerations": TOLERATES, "requests": LOT},
    "cordoned": {"nodeSelector": {"pool": "cordoned"}},
    "node-selector": {"nodeSelector": {"pool": "absent"}},
    "node-affinity": {"affinity": node_affinity("matchExpressions", "disk", "In", "tape")},
    "node-affinity-number": {"affinity": node_affinity("matchExpressions", "size", "Gt", "8")},
    "node-affinity-not": {"affinity": node_affinity("matchExpressions", "pool", "NotIn", "bare", "main")},
    "field-of-no-node": {"affinity": node_affinity("matchFields", "metadata.name", "In", "absent")},
    "field-of-a-node": {
        "affinity": node_affinity("matchFields", "metadata.name", "In", "main-1"),
        "requests": LOT,
    },
    "host-ports": {"ports": [8080], "nodeSelector": MAIN},
    "spread": {"labels": {"app": "web"}, "topologySpreadConstraints": spread(ZONE)},
    "spread-without-label": {"labels": {"app": "web"}, "topologySpreadConstraints": spread("rack")},
    "affinity-to-nothing": {"affinity": pod_affinity("podAffinity", "absent", ZONE)},
    "affinity-elsewhere": {"affinity": pod_affinity("podAffinity", "web"), "requests": {"cpu": "3"}},
    "anti-affinity": {"affinity": pod_affinity("podAntiAffinity", "web"), "nodeSelector": MAIN},
    "unwanted": {"labels": {"app": "loud"}, "nodeSelector": MAIN},
    "too-many-pods": {"nodeSelector": {"pool": "full"}},
    "polite": {"requests": LOT, "priorityClassName": "polite"},
    "victims-are-no-help": {"requests": LOT, "priorityClassName": "high"},
    "important-but-tainted": {"nodeSelector": {"pool": "tainted"}, "priorityClassName": "high"},
    "everything": {
        "requests": {"cpu": "3", "memory": "60Gi"},
        "ports": [8080],
        "tolerations": TOLERATES,
        "affinity": pod_affinity("podAffinity", "web", ZONE),
        "topologySpreadConstraints": spread(ZONE),
    },
}


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane)


@pytest.fixture(scope="module")
def both(control_plane: ControlPlane) -> Iterator[tuple[Program, Moorage]]:
    with control_plane.kube_scheduler() as kube, moorage(control_plane) as ours:
        yield kube, ours


def pair(case: str, **form: Any) -> list[Document]:
    return [pod(f"{case}-{who}", scheduler=name, **form) for who, name in SCHEDULERS.items()]


def conditions(api: Api) -> dict[str, Document]:
    return {name: found for name, each in api.pods().items() if (found := condition(each))}


@pytest.fixture(scope="module")
def without_nodes(api: Api, both: tuple[Program, Moorage]) -> dict[str, Document]:
    """What is said of a pod in a cluster without nodes."""
    api.create(pair("early"))
    said: dict[str, Document] = both[1].wait_until(
        "two conditions", lambda: found if len(found := conditions(api)) == 2 else None
    )
    api.delete_all("pods")
    return said


@pytest.fixture(scope="module")
def judged(api: Api, both: tuple[Program, Moorage], without_nodes: Any) -> dict[str, Document]:
    """All cases under both schedulers, once each of their pods has a condition."""
    api.create([*NODES, *HIGH])
    api.create(RUNNING)
    api.create(document for case, form in CASES.items() for document in pair(case, **form))

    def complete() -> dict[str, Document] | None:
        pods = {name: each for name, each in api.pods().items() if not each["spec"].get("nodeName")}
        return pods if len(pods) == 2 * len(CASES) and all(map(condition, pods.values())) else None

    pods: dict[str, Document] = both[1].wait_until("a condition of every pod", complete)
    return pods


def test_the_words_for_a_cluster_without_nodes(without_nodes: dict[str, Document]) -> None:
    assert without_nodes["early-moorage"] == without_nodes["early-kube"]
    assert without_nodes["early-moorage"]["message"] == "no nodes available to schedule pods"


@pytest.mark.parametrize("case", CASES)
def test_the_reason_why_a_pod_waits(case: str, judged: dict[str, Document]) -> None:
    theirs, ours = (condition(judged[f"{case}-{who}"]) for who in SCHEDULERS)
    assert ours == theirs
    assert (ours["status"], ours["reason"], ours["observedGeneration"]) == ("False", "Unschedulable", 1)
    assert "nominatedNodeName" not in judged[f"{case}-moorage"]["status"]


def test_every_failure_has_its_event(
    api: Api, both: tuple[Program, Moorage], judged: dict[str, Document]
) -> None:
    def complete() -> dict[str, Document] | None:
        found = {event["involvedObject"]["name"]: event for event in api.events("FailedScheduling")}
        return found if found.keys() >= judged.keys() else None

    events: dict[str, Document] = both[1].wait_until("an event of every pod", complete)
    fields = ("type", "reason", "action", "message")
    for case in CASES:
        theirs, ours = ({key: events[f"{case}-{who}"][key] for key in fields} for who in SCHEDULERS)
        assert ours == theirs
        assert events[f"{case}-moorage"]["reportingComponent"] == "moorage"


MASKS = {
    r"-(kube|moorage)\b": "-SCHEDULER",
    r"\b(default-scheduler|moorage)( *)": "SCHEDULER",
    r"\b\d+s( \(x\d+ over \d+s\))?(\s*)": "AGE ",
    r"-{3,}": "---",
    r" +": " ",
}


def described(plane: ControlPlane, name: str) -> str:
    text = plane.kubectl("describe", "pod", name)
    for pattern, mask in MASKS.items():
        text = re.sub(pattern, mask, text)
    return text


def test_a_bound_pod_is_described_alike(
    control_plane: ControlPlane, api: Api, both: tuple[Program, Moorage], judged: Any
) -> None:
    api.create(pair("bound", nodeSelector={"pool": "bare"}, requests={"cpu": "100m"}))
    names = ("bound-kube", "bound-moorage")
    both[1].wait_until("two bound pods", lambda: api.bound().keys() >= {*names})
    both[1].wait_until("their events", lambda: len(api.events("Scheduled")) == 2)
    theirs, ours = (api.pod(name) for name in names)
    assert condition(ours) == condition(theirs)
    assert condition(ours) == {"type": "PodScheduled", "status": "True"}
    theirs_described, ours_described = (described(control_plane, name) for name in names)
    assert ours_described == theirs_described
    assert "Successfully assigned default/bound-SCHEDULER to bare-1" in ours_described
    [event] = api.events("Scheduled", "bound-moorage")
    assert (event["type"], event["action"]) == ("Normal", "Binding")
    assert event["reportingInstance"].startswith("moorage-")


def test_a_waiting_pod_is_described_alike(
    control_plane: ControlPlane, both: tuple[Program, Moorage], judged: Any
) -> None:
    theirs, ours = (described(control_plane, f"everything-{who}") for who in SCHEDULERS)
    assert ours == theirs
    assert "FailedScheduling" in ours
