"""Asking all extenders of a scheduler, at the four places where they have a say."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from moorage.api.pods import Pod
from moorage.api.quantities import wrapped
from moorage.config import ConfigError, ConfigProblem
from moorage.config.types import Extender
from moorage.framework.extenders.envelopes import ExtenderError, Victims
from moorage.framework.extenders.suspension import Suspension
from moorage.framework.logger import Logger
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.observer import Observer
from moorage.framework.status import Status
from moorage.state.cluster import ClusterState
from moorage.state.columns import Bools, Int64s
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.extenders.extender import HttpExtender

T = TypeVar("T")

log = Logger(__name__)

EXTENDER = "Extender"
"""The name under which extenders stand among the plugins that rejected a pod."""


class ExtenderScores(NamedTuple):
    """What extenders add to the total of each node, by extender, and which nodes they gave a score at all."""

    by_extender: dict[str, Int64s]
    given: Bools


class Extenders:
    """The extenders of a scheduler in the order in which they are asked; false if there are none.

    All but `bind` are for cycles: they wait for the answers without `await`.
    """

    def __init__(self, suspension: Suspension, extenders: Sequence[HttpExtender] = ()) -> None:
        self._suspension = suspension
        self._extenders = sorted(extenders, key=lambda extender: extender.is_ignorable)
        self.filter_any = any(extender.filters for extender in extenders)
        self.prioritize_any = any(extender.prioritizes for extender in extenders)

    def __len__(self) -> int:
        return len(self._extenders)

    def __iter__(self) -> Iterator[HttpExtender]:
        return iter(self._extenders)

    def filter(self, pod: Pod, nodes: Nodes, statuses: NodeStatuses) -> Nodes | Status:
        """The nodes that all extenders leave; `statuses` hears of the others. An Error if one fails."""
        if not self.filter_any:
            return nodes
        asked = [each for each in self._extenders if each.filters and each.is_interested(pod)]
        if not asked or not len(nodes):
            return nodes
        return self._wait_for(self._filter(asked, pod, nodes, statuses))

    async def _filter(
        self, asked: Sequence[HttpExtender], pod: Pod, nodes: Nodes, statuses: NodeStatuses
    ) -> Nodes | Status:
        by_name = nodes.table.by_name
        for extender in asked:
            if not len(nodes):
                break
            try:
                nodes, failed, unresolvable = await extender.filter(pod, nodes)
            except ExtenderError as error:
                if not extender.is_ignorable:
                    return Status.error(str(error))
                _skipped(extender, error)
                continue
            for messages, status in ((failed, Status.unschedulable), (unresolvable, Status.unresolvable)):
                for name, message in messages.items():
                    if name in by_name:
                        statuses.set_row(by_name[name].row, status(message))
        return nodes

    def prioritize(self, pod: Pod, nodes: Nodes, observer: Observer) -> ExtenderScores:
        """The scores of all interested extenders, who are asked at the same time; who fails gives none."""
        asked = [each for each in self._extenders if each.is_interested(pod)]
        answers: list[dict[str, int]] = []
        if any(each.prioritizes for each in asked):
            answers = self._wait_for(self._prioritize(asked, pod, nodes, observer))
        elif asked:
            answers = [dict.fromkeys(nodes.names, 0)] * len(asked)
        names = nodes.names
        given = np.zeros(len(names), dtype=np.bool_)
        by_extender: dict[str, Int64s] = {}
        for extender, answer in zip(asked, answers, strict=True):
            given |= np.array([name in answer for name in names], dtype=np.bool_)
            scores = np.array([wrapped(answer.get(name, 0)) for name in names], dtype=np.int64)
            by_extender[extender.name] = by_extender.get(extender.name, 0) + scores
        return ExtenderScores(by_extender, given)

    async def _prioritize(
        self, asked: Sequence[HttpExtender], pod: Pod, nodes: Nodes, observer: Observer
    ) -> list[dict[str, int]]:
        async def ask(extender: HttpExtender) -> dict[str, int]:
            observer.prioritizing_started()
            try:
                return await extender.prioritize(pod, nodes)
            except ExtenderError as error:
                log.info(5, "Failed to run extender's priority function", extender=extender.name, err=error)
                return {}
            finally:
                observer.prioritizing_ended()

        return await asyncio.gather(*(ask(extender) for extender in asked))

    def preempt(
        self, pod: Pod, victims: Mapping[str, Victims], state: ClusterState
    ) -> dict[str, Victims] | Status:
        """The nodes on which all extenders agree to preemption, with the victims they agree to."""
        asked = [each for each in self._extenders if each.preempts and each.is_interested(pod)]
        if not asked or not victims:
            return dict(victims)
        return self._wait_for(self._preempt(asked, pod, dict(victims), state))

    async def _preempt(
        self, asked: Sequence[HttpExtender], pod: Pod, victims: dict[str, Victims], state: ClusterState
    ) -> dict[str, Victims] | Status:
        for extender in asked:
            try:
                answer = await extender.preempt(pod, victims, state)
            except ExtenderError as error:
                if not extender.is_ignorable:
                    return Status.error(str(error))
                _skipped(extender, error)
                continue
            for name in [name for name, each in answer.items() if not each.pods]:
                if not extender.is_ignorable:
                    return Status.error(f'expected at least one victim pod on node "{name}"')
                del answer[name]
            victims = answer
            if not victims:
                break
        return victims

    async def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Has the extender bind that does for this pod; Skip if there is none, or it failed and may fail."""
        for extender in self._extenders:
            if not extender.binds or not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node_name)
            except ExtenderError as error:
                if extender.is_ignorable:
                    _skipped(extender, error)
                    continue
                return Status.error(str(error))
            return None
        return Status.skip()

    async def close(self) -> None:
        """Closes the connections of the running event loop."""
        for extender in self._extenders:
            await extender.close()

    def _wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        return self._suspension.wait_for(work, self.close)


def make_extenders(config: Sequence[Extender]) -> list[HttpExtender]:
    """The extenders of a configuration; raises ConfigError with all that is wrong."""
    problems: list[ConfigProblem] = []
    if not config:
        return []
    # It brings a general HTTP client with it, which takes long to load.
    from moorage.framework.extenders.extender import HttpExtender

    made: list[HttpExtender] = []
    for place, extender in enumerate(config):
        try:
            made.append(HttpExtender(extender, f"extenders[{place}]"))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    return made


def _skipped(extender: HttpExtender, error: ExtenderError) -> None:
    log.info(
        0,
        "Skipping extender as it returned error and has ignorable flag set",
        extender=extender.name,
        err=error,
    )
