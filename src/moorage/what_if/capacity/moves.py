"""Emptying nodes: which pod is evicted when, and where the one goes that comes in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

import msgspec

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.taints import UNSCHEDULABLE_TAINT
from moorage.what_if.capacity.budgets import Budgets, is_healthy
from moorage.what_if.capacity.copies import controller_of, replacement
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.leaving import Leaving
from moorage.what_if.capacity.placements import Unknown
from moorage.what_if.capacity.world import Given, World


class Move(NamedTuple):
    """One eviction; the next waits until the pod that comes in its place is ready."""

    pod: Pod
    node: str
    to: str
    """The node of the pod that comes in its place; empty if none comes."""
    budget: str = ""
    allowed: int = 0
    """How many evictions the budget allowed right before."""
    successor: str = ""
    """What the pod that comes in its place is called here; its controller makes up another name."""


class Plan(NamedTuple):
    """How nodes are emptied: all are cordoned first, and nothing is moved onto any of them."""

    nodes: tuple[str, ...]
    """In the order in which they become empty."""
    moves: tuple[Move, ...]


class Stuck(NamedTuple):
    """No pod that is left can go; why, by its key."""

    reasons: dict[str, str]


class Moving:
    """Finds orders in which the pods of nodes can be moved, on a world that is as before afterwards."""

    def __init__(
        self, world: World, budgets: Budgets, pods_of: Mapping[str, Leaving], effort: Effort
    ) -> None:
        self._world = world
        self._budgets = budgets
        self._pods_of = pods_of
        self._effort = effort

    def first_plan(self, nodes: Sequence[str]) -> Plan | Stuck:
        """The plan that moves whatever can be moved, large pods first; Stuck if that comes to no end."""
        with _Steps(self._world, self._budgets, nodes) as steps:
            return steps.in_order(self._ordered(nodes))

    def any_plan(self, nodes: Sequence[str]) -> Plan | Stuck:
        """As `first_plan`; where that is stuck, every other order is tried. Raises Unknown."""
        found = self.first_plan(nodes)
        if isinstance(found, Plan):
            return found
        with _Steps(self._world, self._budgets, nodes) as steps:
            moves = _Orders(steps, self._effort).search(self._ordered(nodes))
        return found if moves is None else Plan(_emptied(nodes, moves), tuple(moves))

    def one_by_one(self, order: Sequence[str]) -> tuple[list[str], dict[str, Stuck]]:
        """The nodes that can be emptied if each is tried when those before it are empty, and the others.

        Pods may be moved several times on the way, so this is quick to find but no plan to be carried out.
        """
        found: list[str] = []
        others: dict[str, Stuck] = {}
        with _Steps(self._world, self._budgets, []) as steps:
            came: dict[str, list[Pod]] = {}
            for name in order:
                if self._effort.is_over:
                    break
                pods = [(pod, True) for pod in came.get(name, ())] + self._ordered([name])
                before = self._world.snapshot()
                budgets = steps.budgets.copied()
                steps.cordon(name)
                plan = steps.in_order(pods)
                if isinstance(plan, Stuck):
                    own = {pod.key for pod, _ in self._ordered([name])}
                    others[name] = Stuck({key: why for key, why in plan.reasons.items() if key in own})
                    self._world.restore(before)
                    steps.budgets = budgets
                    steps.uncordon(name)
                    continue
                found.append(name)
                for move in plan.moves:
                    if move.to:
                        came.setdefault(move.to, []).append(self._world.pod(move.successor))
        return found, others

    def _ordered(self, nodes: Sequence[str]) -> list[tuple[Pod, bool]]:
        """Node by node, the one with the fewest pods first; and whether another comes in a pod's place."""
        found: list[tuple[Pod, bool]] = []
        for node in sorted(nodes, key=lambda node: (len(self._pods_of[node].moved), node)):
            pods = self._pods_of[node]
            found += [(pod, False) for pod in pods.deleted]
            found += [(pod, True) for pod in sorted(pods.moved, key=_size, reverse=True)]
        return found


def carried_out(given: Given, plan: Plan) -> Plan | Stuck:
    """The plan as it goes on a new copy of the cluster, step by step; the nodes are those found there."""
    with World(given) as world, _Steps(world, Budgets.of(given.objects), plan.nodes) as steps:
        moves: list[Move] = []
        for move in plan.moves:
            done = steps.move(move.pod, comes_back=bool(move.to))
            if isinstance(done, str):
                return Stuck({move.pod.key: done})
            moves.append(done)
        return plan._replace(moves=tuple(moves))


class _Steps:
    """Evictions on a world, for the length of a `with` block in which the nodes are cordoned."""

    def __init__(self, world: World, budgets: Budgets, nodes: Sequence[str]) -> None:
        self.world = world
        self.budgets = budgets.copied()
        self._given = nodes
        self._cordoned: dict[str, Node] = {}
        self._number = 0

    def __enter__(self) -> _Steps:
        self._before = self.world.snapshot()
        for name in self._given:
            self.cordon(name)
        return self

    def __exit__(self, *raised: object) -> None:
        self.world.restore(self._before)
        for name in list(self._cordoned):
            self.uncordon(name)

    def cordon(self, name: str) -> None:
        info = self.world.state.node(name)
        assert info is not None
        self._cordoned[name] = info.node
        self.world.put_node(cordoned(info.node))

    def uncordon(self, name: str) -> None:
        """Has the node as it was."""
        self.world.put_node(self._cordoned.pop(name))

    def in_order(self, pods: Sequence[tuple[Pod, bool]]) -> Plan | Stuck:
        moves: list[Move] = []
        left = list(pods)
        while left:
            reasons: dict[str, str] = {}
            for place, (pod, comes_back) in enumerate(left):
                done = self.move(pod, comes_back=comes_back)
                if not isinstance(done, str):
                    moves.append(done)
                    del left[place]
                    break
                reasons[pod.key] = done
            else:
                return Stuck(reasons)
        return Plan(_emptied(list(self._cordoned), moves), tuple(moves))

    def move(self, pod: Pod, *, comes_back: bool) -> Move | str:
        """Evicts a pod and has the next one scheduled; what is in the way, and all is as before."""
        refusal = self.budgets.refusal(pod)
        if refusal:
            return refusal
        over = self.budgets.over(pod)
        move = Move(pod, pod.spec.node_name, "", *((over[0].key, over[0].allowed) if over else ()))
        before = self.world.snapshot() if self.world.device_claims_of(pod) else None
        self.world.evict(pod)
        if not comes_back:
            self.budgets.deleted(pod)
            return move
        self._number += 1
        new = replacement(pod, self._number)
        result = self.world.schedule([new])
        to = result.placed.get(new.key, "")
        if not to or to in self._cordoned:
            if before is None:
                self.world.remove(new)
                self.world.simulation.add(pod)
            else:
                self.world.restore(before)
            return result.pending.get(new.key) or f"it tolerates the cordon, and would go to {to}"
        self.budgets.moved(pod)
        return move._replace(to=to, successor=new.key)

    def take_back(self, move: Move) -> None:
        """Tells the budgets that a move did not happen; of the world that is for others to undo."""
        if move.to:
            self.budgets.moved(move.pod, by=-1)
        else:
            self.budgets.deleted(move.pod, by=-1)


class _Orders:
    """Tries all orders of evictions. What was moved where decides all that follows, so it is kept."""

    def __init__(self, steps: _Steps, effort: Effort) -> None:
        self._steps = steps
        self._effort = effort
        self._seen: set[frozenset[tuple[tuple[bytes, str], int]]] = set()
        self._tries = 0

    def search(self, pods: Sequence[tuple[Pod, bool]]) -> list[Move] | None:
        return self._descend([(pod, comes_back, _sort_of(pod)) for pod, comes_back in pods], Counter())

    def _descend(
        self, left: Sequence[tuple[Pod, bool, bytes]], where: Counter[tuple[bytes, str]]
    ) -> list[Move] | None:
        if not left:
            return []
        state = frozenset(where.items())
        if state in self._seen:
            return None
        self._seen.add(state)
        tried: set[bytes] = set()
        for place, (pod, comes_back, sort) in enumerate(left):
            if sort in tried:
                continue
            tried.add(sort)
            self._tries += 1
            limit = self._effort.tries
            if self._effort.is_over or (limit is not None and self._tries > limit):
                raise Unknown
            with self._steps.world.undone():
                move = self._steps.move(pod, comes_back=comes_back)
                if isinstance(move, str):
                    continue
                where[sort, move.to] += 1
                rest = self._descend([*left[:place], *left[place + 1 :]], where)
                where[sort, move.to] -= 1
                if not where[sort, move.to]:
                    del where[sort, move.to]
                self._steps.take_back(move)
                if rest is not None:
                    return [move, *rest]
        return None


def cordoned(node: Node) -> Node:
    """The node as it is after `kubectl cordon`."""
    changed: Node = copy(node)
    changed.spec = copy(node.spec)
    changed.spec.unschedulable = True
    if UNSCHEDULABLE_TAINT not in changed.spec.taints:
        changed.spec.taints = (*changed.spec.taints, UNSCHEDULABLE_TAINT)
    return changed


def _emptied(nodes: Sequence[str], moves: Sequence[Move]) -> tuple[str, ...]:
    """The nodes by their last move; those without any come first."""
    last = {move.node: number for number, move in enumerate(moves)}
    return tuple(sorted(nodes, key=lambda node: (last.get(node, -1), node)))


def _size(pod: Pod) -> tuple[int, int, str]:
    requests = pod.requests
    return requests.get("cpu", 0), requests.get("memory", 0), pod.key


def _sort_of(pod: Pod) -> bytes:
    """Pods of one sort are on one node and differ in their names only."""
    owner = controller_of(pod)
    parts = (pod.namespace, pod.labels, owner and owner["uid"], pod.spec, is_healthy(pod))
    # With a claim of its own, no pod is like another.
    return msgspec.json.encode((*parts, pod.uid if pod.has_claims else ""))
