"""Plugins that answer as they are told, and profiles made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config.types import PluginRef
from moorage.framework.cycle_state import CycleState
from moorage.framework.extension_points import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreFilterPlugin,
    PreScorePlugin,
    ReservePlugin,
    ScorePlugin,
    points_of,
)
from moorage.framework.handle import Handle, Services
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.profile import Profile
from moorage.state.node_info import NodeInfo
from moorage.state.nodes import Nodes
from moorage.testing import make_node

POD = Pod()


class Script:
    """What a plugin answers: a value, an exception that is raised, or a function that is called."""

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def __call__(self, *asked: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(*asked) if callable(self.answer) else self.answer


class Scripted(Plugin):
    """`script` answers for the plugin's method; `calls` lists who or what it was asked about."""

    script: ClassVar[Script] = Script()
    calls: ClassVar[list[Any]] = []


class PreFilters(Scripted, PreFilterPlugin):
    def pre_filter(self, cycle: CycleState, pod: Pod) -> Any:
        self.calls.append(pod.name)
        return self.script(cycle, pod)


class Filters(Scripted, FilterPlugin):
    """The easy form."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        self.calls.append(node.name)
        return self.script(cycle, pod, node)


class FastFilters(Scripted, FilterPlugin):
    def filter_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Any:
        self.calls.append(nodes.names)
        return self.script(cycle, pod, nodes)


class PreFiltersAndFilters(PreFilters, FilterPlugin):
    """Its script is for PreFilter; its filter passes every node and notes each."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        self.calls.append(node.name)


class PostFilters(Scripted, PostFilterPlugin):
    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Any:
        self.calls.append(pod.name)
        return self.script(cycle, pod, statuses)


class PreScores(Scripted, PreScorePlugin):
    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Any:
        self.calls.append(nodes.names)
        return self.script(cycle, pod, nodes)


class Scores(Scripted, ScorePlugin):
    """The easy form."""

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Any:
        self.calls.append(node.name)
        return self.script(cycle, pod, node)


class FastScores(Scripted, ScorePlugin):
    def score_nodes(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Any:
        self.calls.append(nodes.names)
        return self.script(cycle, pod, nodes)


class Reserves(Scripted, ReservePlugin):
    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        self.calls.append(f"{self.name} reserve")
        return self.script(cycle, pod, node_name)

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        self.calls.append(f"{self.name} unreserve")


class Permits(Scripted, PermitPlugin):
    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        self.calls.append(f"{self.name} permit")
        return self.script(cycle, pod, node_name)


class PreBinds(Scripted, PreBindPlugin):
    """`script` answers `pre_bind`, `flight` answers `pre_bind_pre_flight`."""

    flight: ClassVar[Script] = Script()

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        return self.flight(cycle, pod, node_name)

    def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        self.calls.append(f"{self.name} pre_bind")
        return self.script(cycle, pod, node_name)


class Binds(Scripted, BindPlugin):
    def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        self.calls.append(f"{self.name} bind")
        return self.script(cycle, pod, node_name)


class PostBinds(Scripted, PostBindPlugin):
    def post_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Any:
        self.calls.append(f"{self.name} post_bind")
        return self.script(cycle, pod, node_name)


S = TypeVar("S", bound=Scripted)


def plugin(base: type[S], name: str, answer: Any = None, **attributes: Any) -> type[S]:
    """A plugin class of that name whose method answers so."""
    fields = {"script": Script(answer), "calls": [], **attributes}
    return cast("type[S]", type(name, (base,), fields))


class World:
    """A cluster and a profile with these plugins, each at every point it implements, in this order."""

    def __init__(
        self,
        *plugins: type[Plugin],
        nodes: int | Iterable[Node] = 3,
        weights: Mapping[str, int] | None = None,
    ) -> None:
        self.services = Services()
        self.state = self.services.state
        if isinstance(nodes, int):
            nodes = [make_node(f"n{number}") for number in range(nodes)]
        for node in nodes:
            self.state.put_node(node)
        self.state.table.refresh()
        self.handle = Handle(self.services)
        made = {each.name: each(None, self.handle) for each in plugins}
        points: dict[str, list[PluginRef]] = {}
        for name, each in made.items():
            for point in points_of(type(each)):
                points.setdefault(point, []).append(PluginRef(name=name, weight=(weights or {}).get(name, 0)))
        self.profile = Profile("default-scheduler", points, made, self.services)
        self.handle.profile = self.profile

    @property
    def nodes(self) -> Nodes:
        return self.state.nodes

    def node(self, name: str) -> NodeInfo:
        found = self.state.node(name)
        assert found is not None
        return found
