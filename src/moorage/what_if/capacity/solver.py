"""Sets of nodes to remove, proposed by a solver (HiGHS, the package `highspy`).

The model knows what pods ask for, what nodes have, which nodes suit which pods by labels and taints, and
which pods may not share a node with one like themselves. Of spreads, other affinities, budgets and orders it
knows nothing: whatever it proposes has to be tried. Since it only leaves things out, its bound holds for what
can really be removed, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from moorage.api.pods import Pod
from moorage.api.selectors import Selector, parse_selector
from moorage.what_if.capacity.copies import replacement
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.leaving import Leaving
from moorage.what_if.capacity.placements import alike
from moorage.what_if.capacity.removal_bounds import COUNTED, Sums
from moorage.what_if.capacity.removing import Removing
from moorage.what_if.capacity.room_bounds import keeps_away_from_itself, suitable
from moorage.what_if.capacity.world import World
from moorage.what_if.node_models import HOSTNAME

_WAKE_SECONDS = 0.1
_WHOLE_PODS = 20_000
"""Up to so many places for pods, only whole pods are placed; beyond that, parts of pods make it quicker."""


def is_installed() -> bool:
    return find_spec("highspy") is not None


class HighsSolver:
    """Keeps the model, and leaves out what it has proposed before."""

    def __init__(self, world: World, removing: Removing, effort: Effort) -> None:
        import highspy

        self._effort = effort
        self._prices = prices = removing.prices
        self._model = highspy.Highs()  # type: ignore[no-untyped-call]
        self._model.setOptionValue("output_flag", False)
        self._infinity = highspy.kHighsInf
        self._integer = highspy.HighsVarType.kInteger
        self._removed = {name: self._variable(price, 1.0, whole=True) for name, price in prices.items()}
        if removing.sums.is_sure:
            self._place_pods(world, removing.pods_of, removing.sums)
        self._model.changeObjectiveSense(highspy.ObjSense.kMaximize)

    def propose(self) -> tuple[list[str] | None, float]:
        """A set that was not proposed before, and a bound for all that were not; None if none is left."""
        import highspy

        if self._effort.is_over:
            return None, sum(self._prices.values())  # the model may not be whole
        bound = self._solve()
        status = self._model.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return None, 0.0
        info = self._model.getInfo()
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None, bound
        values = self._model.getSolution().col_value
        nodes = [name for name, place in self._removed.items() if values[place] > 0.5]
        signs = {name: 1.0 if name in nodes else -1.0 for name in self._prices}
        self._row({self._removed[name]: sign for name, sign in signs.items()}, most=len(nodes) - 1.0)
        return nodes, bound

    def _solve(self) -> float:
        """Runs the solver in a thread of its own, so that it can be stopped."""
        model = self._model
        left = self._effort.seconds_left
        model.setOptionValue("time_limit", self._infinity if left is None else model.getRunTime() + left)
        model.HandleUserInterrupt = True
        thread = model.startSolve()
        while thread.is_alive():
            thread.join(_WAKE_SECONDS)
            if self._effort.is_over:
                model.cancelSolve()  # type: ignore[no-untyped-call]
        model.joinSolve()
        bound = float(model.getInfo().mip_dual_bound)
        return bound if bound < self._infinity else sum(self._prices.values())

    # The model

    def _variable(self, worth: float, most: float, *, whole: bool) -> int:
        place = int(self._model.getNumCol())
        self._model.addVar(0.0, most)
        self._model.changeColCost(place, worth)
        if whole:
            self._model.changeColIntegrality(place, self._integer)
        return place

    def _row(self, terms: Mapping[int, float], *, most: float, least: float | None = None) -> None:
        below = -self._infinity if least is None else least
        self._model.addRow(below, most, len(terms), list(terms), list(terms.values()))

    def _place_pods(self, world: World, pods_of: Mapping[str, Leaving], sums: Sums) -> None:
        """Pods that are alike are placed as one number per node, as many as their nodes give away."""
        moved = [pod for pods in pods_of.values() for pod in pods.moved]
        came_from = {pod.uid: pod.spec.node_name for pod in moved}
        classes = alike(moved, without_node=True)
        names = list(sums.free)
        whole = len(classes) * len(names) <= _WHOLE_PODS
        used: dict[str, list[tuple[int, Pod]]] = {name: [] for name in names}
        for number, pods in enumerate(classes):
            if self._effort.is_over:
                return
            fits = suitable(world, replacement(pods[0], -1 - number))
            apart = _apart_on_nodes(world, pods[0])
            takes_port = pods[0].host_ports and world.has_filter(pods[0], "NodePorts")
            most = 1.0 if apart or takes_port else float(len(pods))
            terms: dict[int, float] = {}
            for name in names if fits is None else sorted(fits):
                if any(_has_one(world, name, pods[0].namespace, selector) for selector in apart):
                    continue  # that one stays for as long as the node does
                place = self._variable(0.0, most, whole=whole)
                terms[place] = 1.0
                used[name].append((place, pods[0]))
            for node, count in Counter(came_from[pod.uid] for pod in pods).items():
                terms[self._removed[node]] = -float(count)
            self._row(terms, most=0.0, least=0.0)
        for name, taken in used.items():
            self._hold(name, taken, sums)

    def _hold(self, name: str, taken: Sequence[tuple[int, Pod]], sums: Sums) -> None:
        """On a node that is removed there is nothing; on the others no more than is free."""
        for resource in COUNTED:
            free = float(sums.free[name][resource])
            terms = {place: amount for place, pod in taken if (amount := _amount(pod, resource))}
            if not terms:
                continue
            if name in self._removed:
                terms[self._removed[name]] = free
            self._row(terms, most=free)


def _apart_on_nodes(world: World, pod: Pod) -> list[Selector]:
    """What no node may have beside a pod that may not be beside one like itself."""
    terms = keeps_away_from_itself(world, pod)
    return [parse_selector(term.label_selector) for term in terms if term.topology_key == HOSTNAME]


def _has_one(world: World, node: str, namespace: str, selector: Selector) -> bool:
    info = world.state.node(node)
    if info is None or info.labels.get(HOSTNAME) != node:
        return False
    return any(
        pod.namespace == namespace and not pod.deleting and selector.matches(pod.labels) for pod in info.pods
    )


def _amount(pod: Pod, resource: str) -> float:
    return 1.0 if resource == "pods" else float(pod.requests.get(resource, 0))
