"""Cases of preemption, each played by kube-scheduler and by Moorage on a stage of its own.

Here is who has to go for whom, and on which node; what may happen meanwhile is beside this.

A case first makes its setting, then lets pods come and go and awaits what must follow. What was seen
under the two schedulers is compared afterwards, word for word. Left out everywhere are

- times, and uids, for which the pod's name stands;
- how often a pod was tried, for every deletion in the cluster wakes it;
- which failed attempts after the first have an event, for those about one version of a pod are a series
  that keeps the words of the first;
- the order between a nomination and the marks of its victims, which kube-scheduler writes from two threads.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from tests.controlplane.stages import WAITS_FOR_VICTIMS, Stage

Case = Callable[[Stage], Awaitable[None]]

CASES: dict[str, Case] = {}

LABELS = {"app": "web"}
HOST = "kubernetes.io/hostname"
NO_VICTIMS = "No preemption victims found for incoming pod"
NOT_HELPFUL = "Preemption is not helpful for scheduling"


def case(play: Case) -> Case:
    CASES[name_of(play)] = play
    return play


def name_of(play: Case) -> str:
    return play.__name__.replace("_", "-")


def required(kind: str, labels: dict[str, str], key: str = HOST) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


# Who has to go


@case
async def several_priorities(it: Stage) -> None:
    """All of them are needed, on one node; the least important of all is on another that is too small."""
    await it.node("a")
    await it.node("b", cpu="2")
    await it.runs("first", cpu="1", priority="middle")
    await it.runs("second", cpu="1")
    await it.runs("third", cpu="1", priority="lowest")
    await it.runs("other", "b", cpu="2", priority="lowest")
    await it.set()
    await it.comes()
    await it.makes_room("first", "second", "third")


@case
async def equal_priorities(it: Stage) -> None:
    """Whoever has run longest stays."""
    await it.node("a", cpu="3")
    await it.runs("old", cpu="1", started="2026-01-01T00:00:00Z")
    await it.runs("young", cpu="1", started="2026-01-03T00:00:00Z")
    await it.runs("middle-aged", cpu="1", started="2026-01-02T00:00:00Z")
    await it.set()
    await it.comes(cpu="1")
    await it.makes_room("young")


@case
async def no_more_than_needed(it: Stage) -> None:
    """The most important are tried first when it is seen who may stay, whatever their size."""
    await it.node("a", cpu="6")
    await it.runs("large", cpu="3", priority="middle")
    await it.runs("medium", cpu="2")
    await it.runs("small", cpu="1")
    await it.set()
    await it.comes(cpu="2")
    await it.makes_room("medium")


@case
async def a_victim_that_has_not_started(it: Stage) -> None:
    """It counts as starting now."""
    await it.node("a", cpu="2")
    await it.runs("old", cpu="1")
    await it.runs("waiting", cpu="1")
    await it.patch("waiting", {"status": {"startTime": None, "phase": "Pending"}}, "/status")
    await it.set()
    await it.comes(cpu="1")
    await it.makes_room("waiting")


# Budgets


@case
async def a_budget_protects_on_one_node(it: Stage) -> None:
    """The guarded pod stays, although it is less important."""
    await it.node("a", cpu="2")
    await it.runs("guarded", cpu="1", labels=LABELS)
    await it.runs("free", cpu="1", priority="middle")
    await it.budget("guard", LABELS)
    await it.set()
    await it.comes(cpu="1")
    await it.makes_room("free")


@case
async def fewest_violations(it: Stage) -> None:
    """First criterion: the pod on the other node is more important and not guarded."""
    await it.node("a")
    await it.node("b")
    await it.runs("guarded", "a", labels=LABELS)
    await it.runs("free", "b", priority="middle")
    await it.budget("guard", LABELS)
    await it.set()
    await it.comes()
    await it.makes_room("free", on="b")


@case
async def a_budget_that_forbids_nothing_yet(it: Stage) -> None:
    """One may go, the second may not: two on one node violate, one on each of two would not."""
    await it.node("a")
    await it.node("b")
    await it.runs("one", "a", cpu="2", labels=LABELS)
    await it.runs("two", "a", cpu="2", labels=LABELS)
    await it.runs("three", "b", cpu="4", labels=LABELS, priority="middle")
    await it.budget("guard", LABELS, allowed=1)
    await it.set()
    await it.comes()
    await it.makes_room("three", on="b")


@case
async def two_budgets(it: Stage) -> None:
    """Both are used up by every pod that both select."""
    await it.node("a", cpu="3")
    await it.runs("first", cpu="1", labels={"app": "web", "tier": "x"}, priority="middle")
    await it.runs("second", cpu="1", labels={"app": "web"})
    await it.runs("third", cpu="1", labels={"tier": "x"})
    await it.budget("apps", {"app": "web"}, allowed=2)
    await it.budget("tiers", {"tier": "x"}, allowed=1)
    await it.set()
    await it.comes(cpu="2")
    await it.makes_room("second", "first")


@case
async def a_pod_that_is_disrupted_already(it: Stage) -> None:
    """A budget that lists it does not protect it any more."""
    await it.node("a")
    await it.node("b")
    await it.runs("listed", "a", labels=LABELS)
    await it.runs("free", "b", priority="middle")
    await it.budget("guard", LABELS, disrupted=["listed"])
    await it.set()
    await it.comes()
    await it.makes_room("listed", on="a")


@case
async def budgets_are_no_veto(it: Stage) -> None:
    await it.node("a")
    await it.runs("guarded", labels=LABELS)
    await it.budget("guard", LABELS)
    await it.set()
    await it.comes()
    await it.makes_room("guarded")


@case
async def victims_of_both_kinds(it: Stage) -> None:
    """Guarded and not: they go in the order of their importance."""
    await it.node("a")
    await it.runs("guarded", cpu="2", labels=LABELS)
    await it.runs("free", cpu="2", priority="middle")
    await it.budget("guard", LABELS)
    await it.set()
    await it.comes()
    await it.makes_room("guarded", "free")


# Which node: the criteria, each deciding


@case
async def lowest_highest_priority(it: Stage) -> None:
    await it.node("a")
    await it.node("b")
    await it.runs("middle", "a", priority="middle")
    await it.runs("low-1", "b", cpu="2")
    await it.runs("low-2", "b", cpu="2")
    await it.set()
    await it.comes()
    await it.makes_room("low-1", "low-2", on="b")


@case
async def smallest_sum_of_priorities(it: Stage) -> None:
    await it.node("a")
    await it.node("b")
    await it.runs("a-1", "a", cpu="2", priority="middle")
    await it.runs("a-2", "a", cpu="2", priority="middle")
    await it.runs("b-1", "b", cpu="2", priority="middle")
    await it.runs("b-2", "b", cpu="2", priority="low")
    await it.set()
    await it.comes()
    await it.makes_room("b-1", "b-2", on="b")


@case
async def fewest_victims(it: Stage) -> None:
    """A victim of the lowest priority there is adds nothing to the sum."""
    await it.node("a")
    await it.node("b")
    await it.runs("a-1", "a", cpu="2")
    await it.runs("a-2", "a", cpu="2", priority="lowest")
    await it.runs("b-1", "b", cpu="4")
    await it.set()
    await it.comes()
    await it.makes_room("b-1", on="b")


@case
async def latest_start(it: Stage) -> None:
    """Of the most important victims the earliest start counts; less important ones do not."""
    await it.node("a")
    await it.node("b")
    await it.runs("a-1", "a", cpu="2", priority="middle", started="2026-01-02T00:00:00Z")
    await it.runs("a-2", "a", cpu="2", priority="low", started="2026-01-09T00:00:00Z")
    await it.runs("b-1", "b", cpu="2", priority="middle", started="2026-01-03T00:00:00Z")
    await it.runs("b-2", "b", cpu="2", priority="low", started="2026-01-01T00:00:00Z")
    await it.set()
    await it.comes()
    await it.makes_room("b-1", "b-2", on="b")


# Who may not


@case
async def policy_never(it: Stage) -> None:
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes(priority="polite")
    await it.says("preemptor", "not eligible due to preemptionPolicy=Never.")
    await it.ends("low")
    await it.bound()


@case
async def nobody_less_important(it: Stage) -> None:
    await it.node("a")
    await it.node("b", cpu="2")
    await it.runs("equal", priority="high")
    await it.runs("low", "b", cpu="2")
    await it.set()
    await it.comes()
    await it.says("preemptor", NO_VICTIMS)


@case
async def gated(it: Stage) -> None:
    """A gated pod preempts nobody, until its gate is gone."""
    await it.node("a")
    await it.runs("low")
    await it.set()
    await it.comes("preemptor", schedulingGates=[{"name": "example.com/wait"}])
    await it.comes("other", cpu="5")
    await it.says("other", "Insufficient cpu", ring=True)
    await it.patch("preemptor", {"spec": {"schedulingGates": None}})
    await it.makes_room("low")


@case
async def nodes_that_cannot_be_helped(it: Stage) -> None:
    """Cordoned, tainted, of another kind: their pods stay, although they matter less."""
    await it.node("a")
    await it.node("cordoned", spec={"unschedulable": True})
    await it.node("tainted", spec={"taints": [{"key": "own", "effect": "NoSchedule"}]})
    await it.node("other", labels={"kind": "other"})
    await it.runs("middle", "a", priority="middle")
    for name in ("cordoned", "tainted", "other"):
        await it.runs(f"on-{name}", name)
    await it.set()
    wanted = {"matchExpressions": [{"key": "kind", "operator": "DoesNotExist"}]}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [wanted]}}
    await it.comes(affinity={"nodeAffinity": rule})
    await it.makes_room("middle")


@case
async def no_node_can_be_helped(it: Stage) -> None:
    await it.node("a", spec={"taints": [{"key": "own", "effect": "NoSchedule"}]})
    await it.runs("low")
    await it.set()
    await it.comes()
    await it.says("preemptor", NOT_HELPFUL)


# What else than cpu


@case
async def anti_affinity_of_the_preemptor(it: Stage) -> None:
    await it.node("a")
    await it.runs("low", cpu="1", labels=LABELS)
    await it.runs("bystander", cpu="1")
    await it.set()
    await it.comes(cpu="1", affinity=required("podAntiAffinity", LABELS))
    await it.makes_room("low", wakes=False)


@case
async def anti_affinity_of_the_victim(it: Stage) -> None:
    await it.node("a")
    await it.runs("low", cpu="1", affinity=required("podAntiAffinity", LABELS))
    await it.set()
    await it.comes(cpu="1", labels=LABELS)
    await it.makes_room("low", wakes=False)


@case
async def affinity_to_a_victim(it: Stage) -> None:
    """The pod follows the one that would have to go: the node is no candidate."""
    await it.node("a", cpu="2")
    await it.runs("followed", cpu="2", labels=LABELS)
    await it.set()
    await it.comes(cpu="1", affinity=required("podAffinity", LABELS))
    await it.says("preemptor", "preemption: ")


@case
async def affinity_to_one_who_stays(it: Stage) -> None:
    await it.node("a", cpu="2")
    await it.runs("followed", cpu="1", labels=LABELS, priority="top")
    await it.runs("low", cpu="1")
    await it.set()
    await it.comes(cpu="1", affinity=required("podAffinity", LABELS))
    await it.makes_room("low")


@case
async def spread(it: Stage) -> None:
    """The pods are spread unevenly; one of the many has to go."""
    await it.node("a", labels={"place": "x"})
    await it.node("b", labels={"place": "y"}, cpu="1")
    await it.runs("a-1", "a", cpu="1", labels=LABELS)
    await it.runs("big", "b", cpu="1", priority="top")
    await it.set()
    rule = {
        "maxSkew": 1,
        "topologyKey": "place",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": LABELS},
    }
    await it.comes(cpu="1", labels=LABELS, topologySpreadConstraints=[rule])
    await it.makes_room("a-1", wakes=False)


@case
async def host_port(it: Stage) -> None:
    await it.node("a")
    await it.runs("low", cpu="1", ports=[it.port])
    await it.runs("bystander", cpu="1", ports=[it.port + 1])
    await it.set()
    await it.comes(cpu="1", ports=[it.port])
    await it.makes_room("low", wakes=False)


@case
async def extended_resource(it: Stage) -> None:
    await it.node("a", more={"example.com/gpu": "2"})
    await it.runs("one", cpu="1", requests={"example.com/gpu": "1"})
    await it.runs("two", cpu="1", requests={"example.com/gpu": "1"}, started="2026-01-02T00:00:00Z")
    await it.runs("none", cpu="1")
    await it.set()
    await it.comes(cpu="1", requests={"example.com/gpu": "1"})
    await it.makes_room("two")


@case
async def number_of_pods(it: Stage) -> None:
    await it.node("a", pods="2")
    await it.runs("low", cpu="1")
    await it.runs("middle", cpu="1", priority="middle")
    await it.set()
    await it.comes(cpu="1")
    await it.makes_room("low")


# Special pods


@case
async def victims_of_other_namespaces(it: Stage) -> None:
    """A budget protects in its own namespace only."""
    other = await it.namespace("other")
    await it.node("a")
    await it.node("b")
    await it.runs("low", "a", labels=LABELS, space=other)
    await it.runs("middle", "b", priority="middle")
    await it.budget("guard", LABELS)
    await it.set()
    await it.comes()
    await it.makes_room("low", space=other)


@case
async def the_same_name_in_another_namespace(it: Stage) -> None:
    """Victim, preemptor and bystander have one name."""
    other, third = await it.namespace("other"), await it.namespace("third")
    await it.node("a")
    await it.node("b")
    await it.runs("preemptor", "a", space=other)
    await it.runs("preemptor", "b", priority="middle", space=third)
    await it.set()
    await it.comes()
    await it.makes_room("preemptor", space=other)


@case
async def daemon(it: Stage) -> None:
    """A pod that is bound for one node, as those of DaemonSets are: there is no other to look at."""
    await it.node("a")
    await it.node("b")
    await it.runs("middle", "a", priority="middle")
    await it.runs("low", "b")
    await it.set()
    field = {"key": "metadata.name", "operator": "In", "values": [it.node_name("a")]}
    rule = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [field]}]}
    }
    await it.comes(affinity={"nodeAffinity": rule})
    await it.makes_room("middle")


@case
async def daemons_and_static_pods_as_victims(it: Stage) -> None:
    """Neither is spared: priority alone counts."""
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "logs", "uid": "0", "controller": True}
    await it.node("a")
    await it.runs("daemon", cpu="2", metadata={"ownerReferences": [owner]})
    await it.runs("static", cpu="2", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}})
    await it.set()
    await it.comes()
    await it.makes_room("daemon", "static")


@case
async def a_victim_that_ends_at_once(it: Stage) -> None:
    """Without a grace period the room is there before the preemptor is told so."""
    await it.node("a")
    await it.runs("low", terminationGracePeriodSeconds=0)
    it.is_chance(WAITS_FOR_VICTIMS)
    await it.set()
    await it.comes()
    await it.bound()


@case
async def a_victim_with_a_finalizer(it: Stage) -> None:
    """It has ended and yet stays, and with it what it asked for."""
    await it.node("a")
    await it.runs("low", metadata={"finalizers": ["example.com/hold"]})
    await it.set()
    await it.comes()
    await it.going("low")
    await it.nominated()
    await it.ends("low")
    await it.says("preemptor", WAITS_FOR_VICTIMS, ring=True)
    await it.patch("low", {"metadata": {"finalizers": None}})
    await it.bound()
