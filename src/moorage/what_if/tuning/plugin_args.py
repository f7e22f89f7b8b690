"""The args of plugins that a search may change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from moorage.config.args import (
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    UtilizationShapePoint,
)
from moorage.what_if.sweeps.configurations import Document, set_args
from moorage.what_if.tuning.parameters import Choice, Number, Parameter, Value, Values

_RATIO = "RequestedToCapacityRatio"
_UTILIZATIONS = (0, 50, 100)
_HIGHEST_RESOURCE_WEIGHT = 10
_USUAL = ("cpu", "memory")


class PluginArguments(Protocol):
    """Parameters that stand for the args of one plugin in one profile."""

    parameters: list[Parameter]

    def __init__(self, prefix: str, args: Any, resources: Sequence[str]) -> None: ...

    def apply(self, profile: Document, values: Values) -> None:
        """Writes the args that these values stand for."""


class FitArguments:
    """How NodeResourcesFit scores: its strategy, the weights of resources, and the line of a ratio."""

    def __init__(self, prefix: str, args: NodeResourcesFitArgs, resources: Sequence[str]) -> None:
        strategy = args.scoring_strategy
        given = {resource.name: resource.weight for resource in strategy.resources}
        self._type = Choice(f"{prefix}.strategy", ("LeastAllocated", "MostAllocated", _RATIO), strategy.type)
        self._resources = {
            name: Number(
                f"{prefix}.resources.{name}",
                0,
                max(_HIGHEST_RESOURCE_WEIGHT, given.get(name, 0)),
                given.get(name, 0),
            )
            for name in dict.fromkeys((*given, *_USUAL, *resources))
        }
        ratio = strategy.requested_to_capacity_ratio
        self._given_shape = ratio.shape if ratio is not None else []
        only_if: tuple[str, Value] = (self._type.name, _RATIO)
        self._shape = [
            Number(f"{prefix}.scoreAt{at}Percent", 0, 10, _score_at(self._given_shape, at), only_if)
            for at in _UTILIZATIONS
        ]
        self.parameters: list[Parameter] = [self._type, *self._resources.values(), *self._shape]

    def apply(self, profile: Document, values: Values) -> None:
        weights = {name: int(values[each.name]) for name, each in self._resources.items()}
        if not any(weights.values()):
            weights = dict.fromkeys(_USUAL, 1)
        kind = values[self._type.name]
        strategy: Document = {
            "type": kind,
            "resources": [{"name": name, "weight": weight} for name, weight in weights.items() if weight],
        }
        if kind == _RATIO:
            strategy["requestedToCapacityRatio"] = {"shape": self._shape_of(values)}
        set_args(profile, "NodeResourcesFit", {"scoringStrategy": strategy})

    def _shape_of(self, values: Values) -> list[Document]:
        scores = [int(values[each.name]) for each in self._shape]
        if self._given_shape and scores == [each.base for each in self._shape]:
            return [{"utilization": each.utilization, "score": each.score} for each in self._given_shape]
        return [{"utilization": at, "score": score} for at, score in zip(_UTILIZATIONS, scores, strict=True)]


def _score_at(shape: Sequence[UtilizationShapePoint], utilization: int) -> int:
    """The score of a line between points; without any it rises from 0 to 10."""
    if not shape:
        return utilization // 10
    before = shape[0]
    for point in shape:
        if point.utilization >= utilization:
            break
        before = point
    else:
        return before.score
    width = point.utilization - before.utilization
    share = (utilization - before.utilization) / width if width and utilization > before.utilization else 1.0
    return round(before.score + share * (point.score - before.score))


class BalanceArguments:
    """Which resources NodeResourcesBalancedAllocation balances beside CPU and memory."""

    def __init__(
        self, prefix: str, args: NodeResourcesBalancedAllocationArgs, resources: Sequence[str]
    ) -> None:
        given = [resource.name for resource in args.resources]
        self._always = [name for name in given if name in _USUAL] or list(_USUAL)
        self._others = {
            name: Choice(f"{prefix}.resources.{name}", ("no", "yes"), "yes" if name in given else "no")
            for name in dict.fromkeys((*given, *resources))
            if name not in _USUAL
        }
        self.parameters: list[Parameter] = list(self._others.values())

    def apply(self, profile: Document, values: Values) -> None:
        chosen = [name for name, each in self._others.items() if values[each.name] == "yes"]
        listed = [{"name": name, "weight": 1} for name in (*self._always, *chosen)]
        set_args(profile, "NodeResourcesBalancedAllocation", {"resources": listed})


class SpreadArguments:
    """How PodTopologySpread spreads pods that say nothing about it; never so that one stays pending."""

    _KEYS = {"hosts": "kubernetes.io/hostname", "zones": "topology.kubernetes.io/zone"}
    _AS_GIVEN = "as given"

    def __init__(self, prefix: str, args: PodTopologySpreadArgs, resources: Sequence[str]) -> None:
        if args.defaulting_type == "System":
            base = "System"
        else:
            base = self._AS_GIVEN if args.default_constraints else "none"
        choices = tuple(dict.fromkeys((base, "System", "none", *self._KEYS)))
        self._kind = Choice(f"{prefix}.defaultConstraints", choices, base)
        self.parameters: list[Parameter] = [self._kind]

    def apply(self, profile: Document, values: Values) -> None:
        kind = str(values[self._kind.name])
        if kind == "System":
            changed: Document = {"defaultingType": "System", "defaultConstraints": None}
        else:
            key = self._KEYS.get(kind)
            one = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "ScheduleAnyway"}
            changed = {"defaultingType": "List", "defaultConstraints": [one] if key else []}
        set_args(profile, "PodTopologySpread", changed)


SEARCHED_ARGS: dict[str, type[PluginArguments]] = {
    "NodeResourcesFit": FitArguments,
    "NodeResourcesBalancedAllocation": BalanceArguments,
    "PodTopologySpread": SpreadArguments,
}
