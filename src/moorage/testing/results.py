"""`Run`: all there is to know about one pod in a test."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from moorage.api.pods import Pod
from moorage.framework.eviction import Evicted
from moorage.framework.extension_points import Plugin
from moorage.framework.runtime.scoring import Scores
from moorage.framework.status import Status
from moorage.scheduler.cycle import Decision
from moorage.testing.recording import RecordedEvent, Write

P = TypeVar("P", bound=Plugin)

log = logging.getLogger("moorage.testing")
log.setLevel(logging.INFO)

_SHOWN_NODES = 3
_SHOWN_TEXT = 160


@dataclass(repr=False, eq=False)
class Run:
    """What became of a pod."""

    pod: Pod
    """The pod; after a whole cycle, as the API server has it."""
    node: str = ""
    """The node chosen for the pod; empty if there is none."""
    feasible: list[str] = field(default_factory=list)
    """The nodes that fit."""
    statuses: dict[str, Status] = field(default_factory=dict)
    """Why each rejected node was rejected."""
    scores: dict[str, dict[str, int]] = field(default_factory=dict)
    """Node to plugin to score, 0 to 100, before the weight."""
    totals: dict[str, int] = field(default_factory=dict)
    """Node to the weighted sum of its scores."""
    message: str = ""
    """What the pod's condition would say; empty if it got a node."""
    error: str = ""
    """What went wrong if something failed."""
    nominated: str = ""
    """The node that PostFilter nominated for the pod; empty if there is none."""
    plugins: dict[str, Plugin] = field(default_factory=dict)
    """The plugin objects that took part, by name; `plugin` finds one by its class."""
    evicted: list[Evicted] = field(default_factory=list)
    """The pods that were told to go for this one; in a whole cycle `victims` are those that went."""
    events: list[RecordedEvent] = field(default_factory=list)
    """The events about the pod, and what else was recorded in its cycle."""

    is_whole: bool = False
    """Whether a whole cycle is run; what follows is for such a one."""
    bound: bool = False
    """Whether the pod was bound."""
    waiting: list[str] = field(default_factory=list)
    """The Permit plugins that hold the pod back."""
    victims: list[str] = field(default_factory=list)
    """The pods that had to go for this one, as `namespace/name`."""
    writes: list[Write] = field(default_factory=list)
    """What was written about the pod, and what else in its cycle, in order."""

    def plugin(self, kind: type[P]) -> P:
        """The plugin object of a class, so that a test can look into it."""
        for plugin in self.plugins.values():
            if isinstance(plugin, kind):
                return plugin
        raise KeyError(f"{kind.__name__} took no part; the plugins are {', '.join(self.plugins)}")

    def __repr__(self) -> str:
        parts = [self._outcome()]
        if self.statuses and not self.error:
            shown = list(self.statuses.items())[:_SHOWN_NODES]
            more = len(self.statuses) - len(shown)
            reasons = ", ".join(f"{node}: {_short(why.message)} ({why.plugin})" for node, why in shown)
            parts.append(f"not {reasons}" + (f" and {more} more" if more else ""))
        if self.victims:
            parts.append(f"victims {', '.join(self.victims)}")
        return f"<Run {self.pod.key}: {'; '.join(parts)}>"

    def _outcome(self) -> str:
        if self.error:
            return f"error: {_short(self.error)}"
        if self.message:
            nominated = f", nominated to {self.nominated}" if self.nominated else ""
            return f"no node{nominated}: {_short(self.message)}"
        if self.waiting:
            return f"node {self.node}, held back by {', '.join(self.waiting)}"
        if self.bound:
            return f"bound to {self.node}"
        if self.node:
            return f"on its way to {self.node}" if self.is_whole else f"node {self.node}"
        return "not tried"

    def note(self, decision: Decision, nodes: Iterable[str]) -> None:
        """Takes over what a cycle decided about these nodes."""
        failure = decision.failure
        self.node = decision.node_name
        self.feasible = sorted(decision.feasible.names) if decision.feasible else []
        self.statuses = _statuses(decision, nodes)
        self.scores, self.totals = {}, {}
        self.message = failure.message if failure and failure.is_rejection else ""
        self.error = failure.message if failure and not failure.is_rejection else ""
        self.nominated = (failure.nominated_node or "") if failure else ""
        if decision.scores is not None and decision.feasible is not None:
            self.note_scores(decision.scores, decision.feasible.names)

    def note_scores(self, scores: Scores, nodes: Sequence[str]) -> None:
        """Takes over the scores of the nodes that fit."""
        by_plugin = {plugin: values.tolist() for plugin, values in scores.by_plugin.items()}
        self.scores = {
            node: {plugin: values[place] for plugin, values in by_plugin.items()}
            for place, node in enumerate(nodes)
        }
        self.totals = dict(zip(nodes, scores.totals.tolist(), strict=True))


def show(run: Run) -> None:
    """Has pytest show a run with its test if that fails, whatever the test compares."""
    log.info("%r", run)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_TEXT else f"{text[:_SHOWN_TEXT]}..."


def _statuses(decision: Decision, nodes: Iterable[str]) -> dict[str, Status]:
    """Why each node was rejected that was looked at, or that PreFilter left out."""
    pre = decision.pre_filtered
    if pre is not None and pre.status is not None:
        return dict.fromkeys(nodes, pre.status)
    found = dict(decision.statuses.explicit())
    if pre is not None and pre.names is not None:
        found.update({name: decision.statuses.absent for name in nodes if name not in pre.names})
    return found
