"""One HTTP extender: what it can be asked, and what its answers mean."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from moorage.api.pods import Pod
from moorage.config.types import Extender
from moorage.framework.extenders.envelopes import (
    ExtenderError,
    Victims,
    bind_request,
    nodes_request,
    preempt_request,
    read_error,
    read_filter,
    read_scores,
    read_victims,
)
from moorage.framework.logger import Logger
from moorage.state.cluster import ClusterState
from moorage.state.nodes import Nodes

if TYPE_CHECKING:
    from moorage.framework.extenders.transport import Transport

T = TypeVar("T")

log = Logger(__name__)

MAX_EXTENDER_SCORE = 10
_SCALE = 100 // MAX_EXTENDER_SCORE
SILENCE_SECONDS = 60.0  # between two warnings about the same extender


class Filtered(NamedTuple):
    """The nodes that an extender left, and why it did not leave the others."""

    nodes: Nodes
    failed: dict[str, str]
    unresolvable: dict[str, str]


class HttpExtender:
    """Every verb raises ExtenderError if there is no answer or not one that can be used."""

    def __init__(self, config: Extender, place: str) -> None:
        self.name = config.url_prefix
        self.is_ignorable = config.ignorable
        self.weight = config.weight
        self.filters = bool(config.filter_verb)
        self.prioritizes = bool(config.prioritize_verb)
        self.preempts = bool(config.preempt_verb)
        self.binds = bool(config.bind_verb)
        self._config = config
        self._place = place
        self._by_name = config.node_cache_capable
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._warned: float | None = None
        is_used = self.filters or self.prioritizes or self.preempts or self.binds
        self._transport: Transport | None = None
        if is_used:
            # Heavy to import, and most configurations have no extenders.
            from moorage.framework.extenders.transport import Transport

            self._transport = Transport(config, place)

    def is_interested(self, pod: Pod) -> bool:
        """Whether the pod asks for a resource that it manages, or it manages none in particular."""
        return not self._managed or any(
            name in self._managed
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
            for name in amounts
        )

    async def filter(self, pod: Pod, nodes: Nodes) -> Filtered:
        if not self.filters:
            return Filtered(nodes, {}, {})
        request = nodes_request(pod, nodes, by_name=self._by_name)
        answer = await self._ask(self._config.filter_verb, request, read_filter)
        if answer.error:
            raise ExtenderError(answer.error)
        # Only those who are asked by name may answer by name.
        names = answer.names if self._by_name and answer.names is not None else answer.of_objects or []
        rows = {info.name: info.row for info in nodes}
        for name in names:
            if name not in rows:
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" '
                    "which is not found in the input node list"
                )
        left = np.array([rows[name] for name in dict.fromkeys(names)], dtype=np.intp)
        return Filtered(Nodes(nodes.table, left), answer.failed, answer.unresolvable)

    async def prioritize(self, pod: Pod, nodes: Nodes) -> dict[str, int]:
        """What to add to the totals of nodes; 0 for all of them if it does not score."""
        if not self.prioritizes:
            return dict.fromkeys(nodes.names, 0)
        request = nodes_request(pod, nodes, by_name=self._by_name)
        answer = await self._ask(self._config.prioritize_verb, request, read_scores)
        scores: dict[str, int] = {}
        for name, score in answer:
            scores[name] = scores.get(name, 0) + score * self.weight * _SCALE
        return scores

    async def preempt(
        self, pod: Pod, victims: Mapping[str, Victims], state: ClusterState
    ) -> dict[str, Victims]:
        """The nodes on which it agrees to preemption, with the pods that then have to go."""
        request = preempt_request(pod, victims, by_uid=self._by_name)
        answer = await self._ask(self._config.preempt_verb, request, read_victims)
        found: dict[str, Victims] = {}
        for name, chosen in answer.items():
            node = state.node(name)
            if node is None:
                raise ExtenderError(f'nodeinfo not found for node name "{name}"')
            there = {each.uid: each for each in node.pods}
            for uid in chosen.uids:
                if uid not in there:
                    raise ExtenderError(
                        f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {name}, "
                        "but the pod is not found on that node"
                    )
            found[name] = Victims(tuple(there[uid] for uid in chosen.uids), chosen.pdb_violations)
        return found

    async def bind(self, pod: Pod, node_name: str) -> None:
        request = bind_request(pod, node_name)
        error = await self._ask(self._config.bind_verb, request, read_error, may_repeat=False)
        if error:
            raise ExtenderError(error)

    async def close(self) -> None:
        if self._transport is not None:
            await self._transport.close()

    async def _ask(
        self, verb: str, request: bytes, read: Callable[[bytes], T], *, may_repeat: bool = True
    ) -> T:
        assert self._transport is not None
        try:
            return read(await self._transport.post(verb, request, may_repeat=may_repeat))
        except ExtenderError as error:
            self._warn(verb, error)
            raise

    def _warn(self, verb: str, error: Exception) -> None:
        """Names the extender that cannot be asked, but not again and again."""
        now = time.monotonic()
        if self._warned is not None and now - self._warned < SILENCE_SECONDS:
            return
        self._warned = now
        log.warning(
            "An extender cannot be asked; see to it, or to its entry in the configuration",
            field=self._place,
            extender=self.name,
            verb=verb,
            err=error,
        )
