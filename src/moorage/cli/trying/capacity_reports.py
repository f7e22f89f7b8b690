"""How answers about capacity are told: documents for programs, sentences and tables for people."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from moorage.cli.insight.output import say, show
from moorage.insight.words.amounts import counted, listed
from moorage.insight.words.causes import why_nothing_fits
from moorage.insight.words.closest import closest
from moorage.insight.words.evaluations import detail_of_try
from moorage.insight.words.groups import cause
from moorage.insight.words.reasons import about_pod
from moorage.what_if.capacity.adding import Addition
from moorage.what_if.capacity.leaving import Obstacle
from moorage.what_if.capacity.node_types import NodeType
from moorage.what_if.capacity.removing import Removal
from moorage.what_if.capacity.room import Room
from moorage.what_if.capacity.world import World

Document = dict[str, Any]

_AVAILABLE = "nodes are available"
_CORDONED = re.compile(r"(?<=: )\d+ node\(s\) were unschedulable, |, \d+ node\(s\) were unschedulable")
_ALL_CORDONED = re.compile(r": \d+ node\(s\) were unschedulable\.")
_OF_GROUP = "pod group "
_MOST_LISTED = 5


# Room


def room_document(world: World, found: Room) -> Document:
    """The answer for programs; the world is as the last of the pods has left it."""
    evaluation = world.evaluation(found.pod)
    answer = evaluation.document() | {"nodes": len(world.nodes)}
    statuses = None if evaluation.decision is None else evaluation.decision.statuses
    near = None if statuses is None else closest(world.state.table, found.pod, statuses)
    gate: Document | None = answer.get("preEnqueue")
    then = [about_pod(gate["plugin"], gate["reasons"])] if gate is not None else []
    # A member of a group that is asked about alone lacks the others above all.
    of_group = found.why.startswith(_OF_GROUP)
    if not then and not found.is_limited:
        then = [found.why] if of_group else why_nothing_fits(detail_of_try(answer), near)
    return {
        "fits": found.fits,
        "where": dict(sorted(found.where.items())),
        "atMost": found.at_most,
        "exact": found.is_exact,
        "limited": found.is_limited,
        "then": then,
        "message": "" if found.is_limited else found.why if of_group else answer.get("message") or "",
        "waiting": len(world.given.waiting),
        "failedPlugins": found.failed_plugins,
    }


def show_room(document: Document) -> None:
    fits, most = document["fits"], document["atMost"]
    if document["limited"]:
        say([f"{fits} more fit, and no more were tried; --most and --timeout let it count further."])
    else:
        first, *further = document["then"] or ["no node fits."]
        say([f"{fits} more {'fits' if fits == 1 else 'fit'}; then: {_within(first)}", *further])
    if most > fits and document["exact"]:
        say([f"Another placement than the scheduler's has {most}."])
    elif most > fits and not document["limited"]:
        say([f"No placement has more than {most}; whether one has as many is not known."])
    elif fits and not document["limited"]:
        say(["No other placement has more."])
    _say_left_out(document["waiting"])
    say(
        f"Plugin {plugin} failed {count} times; -v shows how"
        for plugin, count in document["failedPlugins"].items()
    )
    if document["where"]:
        show("Where they go", (["NODE", "PODS"], [[node, str(n)] for node, n in document["where"].items()]))


def _within(sentence: str) -> str:
    """A sentence as the end of another: without its capital, unless a name begins with it."""
    word = sentence.split(" ", 1)[0]
    return (
        sentence[:1].lower() + sentence[1:]
        if (word.isalpha() and word[1:].islower()) or word == "A"
        else sentence
    )


def _say_left_out(waiting: int) -> None:
    if waiting:
        waits = "waits" if waiting == 1 else "wait"
        say([f"Left out: {counted(waiting, 'pod')} of the cluster that {waits} for a node."])


# Nodes


def addition_document(found: Addition) -> Document:
    return {
        "nodes": found.nodes,
        "cost": found.cost,
        "least": found.is_least,
        "atLeast": found.at_least,
        "placed": found.placed,
        "hopeless": found.hopeless,
    }


def show_addition(found: Addition, types: Sequence[NodeType], waiting: int, show_placements: bool) -> None:
    pods = len(found.placed)
    if not waiting:
        say(["No pod waits for a node: nothing has to be added."])
        return
    if found.nodes:
        added = counted(sum(found.nodes.values()), "node")
        say([f"With {added} more, at a cost of {found.cost:g}, {_fit(pods)}.", *_how_good(found)])
    elif pods:
        say([f"{_fit(pods).capitalize()} as it is: nothing has to be added."])
    if found.nodes:
        there = Counter(found.placed.values())
        rows = []
        for each in types:
            if count := found.nodes.get(each.name, 0):
                on = sum(there[each.node_name(number)] for number in range(1, count + 1))
                rows.append([each.name, str(count), f"{each.price:g}", f"{count * each.price:g}", str(on)])
        show("To be added", (["TYPE", "NODES", "PRICE", "COST", "PODS THERE"], rows))
    if show_placements:
        show("Where the pods go", (["POD", "NODE"], [[pod, node] for pod, node in found.placed.items()]))
    if found.hopeless:
        rows = [[pod, told(why)] for pod, why in found.hopeless.items()]
        show("Fit on no number of these nodes", (["POD", "WHY"], rows))


def _fit(pods: int) -> str:
    return "the pod that waits fits" if pods == 1 else f"all {pods} pods that wait fit"


def _how_good(found: Addition) -> list[str]:
    if not found.is_least:
        return [
            f"Whether less would do is not known: it takes {found.at_least:g} at least; "
            "--timeout gives the search more time."
        ]
    if found.at_least < found.cost and not found.is_reached:
        return [
            "With nothing cheaper does the scheduler place them all. Whether another placement would at a "
            f"cost of {found.at_least:g} is not known; at less, none would."
        ]
    if found.at_least < found.cost:
        return [
            f"With nothing cheaper does the scheduler place them all, though at a cost of {found.at_least:g} "
            "another placement would."
        ]
    return ["Nothing cheaper will do."]


# Drain


def removal_document(found: Removal, waiting: int) -> Document:
    return {
        "removed": list(found.plan.nodes),
        "worth": found.worth,
        "atMost": found.at_most,
        "waiting": waiting,
        "steps": _steps(found),
        "kept": {
            node: [{"pod": each.pod, "why": told(each.why)} for each in obstacles]
            for node, obstacles in found.kept.items()
        },
    }


def _steps(found: Removal) -> list[Document]:
    plan = found.plan
    steps: list[Document] = [{"do": "cordon", "node": node} for node in plan.nodes]
    for move in plan.moves:
        step: Document = {"do": "evict" if move.to else "delete", "node": move.node, "pod": move.pod.key}
        if move.to:
            step["to"] = move.to
        if move.budget:
            step |= {"budget": move.budget, "allowed": move.allowed}
        steps.append(step)
    return [*steps, *({"do": "remove", "node": node} for node in plan.nodes)]


def show_removal(found: Removal, candidates: int, waiting: int, *, prices: bool, has_solver: bool) -> None:
    removed = found.plan.nodes
    what = f"{len(removed)} of {counted(candidates, 'node')} can be removed"
    unit = f"nodes worth {found.at_most:g}" if prices else f"{found.at_most:g}"
    worth = f", worth {found.worth:g}" if prices and removed else ""
    if found.is_most:
        say([f"{what}{worth}{', which is the most' if removed else ''}."])
    else:
        say([f"{what}{worth}; at most {unit} can be."])
        if not has_solver:
            say(["A solver may find more, or a better bound: pip install 'moorage[solver]'."])
    _say_left_out(waiting)
    if removed:
        if len(found.plan.moves) > 1:
            say(["Each pod is evicted when the one that comes in place of the one before is ready."])
        show("Steps", (["STEP", "DO", "NODE", "POD", "TO", "BUDGET ALLOWS"], _step_rows(found)))
    if found.kept:
        rows = [[node, _why_kept(obstacles)] for node, obstacles in found.kept.items()]
        show("Nodes that stay", (["NODE", "WHY NOT, TOO"], rows))


def _step_rows(found: Removal) -> list[list[str]]:
    return [
        [
            str(number),
            step["do"],
            step["node"],
            step.get("pod", ""),
            step.get("to", ""),
            str(step["allowed"]) if "budget" in step else "",
        ]
        for number, step in enumerate(_steps(found), 1)
    ]


def _why_kept(obstacles: Sequence[Obstacle]) -> str:
    if not obstacles:
        return "with the others gone there is not enough room for its pods"
    by_reason: dict[str, list[str]] = {}
    for each in obstacles:
        by_reason.setdefault(told(each.why), []).append(each.pod)
    return "; ".join(
        f"{listed(pods, _MOST_LISTED)}: {why}" if any(pods) else why for why, pods in by_reason.items()
    )


def told(why: str) -> str:
    """What the scheduler says of a pod that fits nowhere, in plain words; other texts as they are."""
    if _AVAILABLE not in why:
        return why
    if _ALL_CORDONED.search(why):
        return "no other node is left"
    # That nodes are cordoned goes without saying where they are to be removed, if anything else is said.
    return cause({"message": _CORDONED.sub("", why)})
