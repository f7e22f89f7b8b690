"""PreemptionToleration: preemption that spares pods whose priority class says so, for a while or for ever."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from moorage.api.pods import Pod
from moorage.api.workloads import PodDisruptionBudget, PriorityClass
from moorage.config.args import DefaultPreemptionArgs
from moorage.config.args_checks import check_default_preemption
from moorage.config.problems import ConfigError
from moorage.contrib.naming_dry_run import NamingDryRun
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle
from moorage.framework.listers import Lister
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.plugins.preemption.dry_run import DryRun
from moorage.state.node_info import NodeInfo

log = logging.getLogger(__name__)

_PREFIX = "preemption-toleration.scheduling.x-k8s.io/"
MINIMUM_PRIORITY = f"{_PREFIX}minimum-preemptable-priority"
SECONDS = f"{_PREFIX}toleration-seconds"

MOST_WARNINGS = 1000

_NUMBER = re.compile(r"[+-]?[0-9]+", re.ASCII)


class PreemptionTolerationArgs(DefaultPreemptionArgs):
    """As those of DefaultPreemption."""


class PreemptionToleration(DefaultPreemption):
    """As DefaultPreemption, but pods may be spared by annotations of their priority class."""

    args_type = PreemptionTolerationArgs

    def __init__(self, args: PreemptionTolerationArgs | None, handle: Handle) -> None:
        args = args or PreemptionTolerationArgs()
        problems = check_default_preemption("args", args)
        if problems:
            raise ConfigError(problems)
        super().__init__(args, handle)
        self._sparing = Sparing(handle.lister_of(PriorityClass))

    def dry_run(self, cycle: CycleState, pod: Pod) -> DryRun:
        budgets = list(self.handle.state.objects.of(PodDisruptionBudget).list())
        return SparingDryRun(self.handle, cycle, pod, budgets, self._sparing)


class Toleration(NamedTuple):
    """What a priority class says about the preemption of its pods."""

    minimum_priority: int
    """Pods of at least this priority may always have them preempted."""
    seconds: int
    """So long are they spared by others after they were scheduled; below 0 for ever."""

    @classmethod
    def of(cls, priority_class: PriorityClass) -> Toleration:
        """Raises ValueError if an annotation is no number of its size."""
        minimum = _number(priority_class, MINIMUM_PRIORITY, 32)
        seconds = _number(priority_class, SECONDS, 64)
        return cls(priority_class.value + 1 if minimum is None else minimum, seconds or 0)


def _number(priority_class: PriorityClass, annotation: str, bits: int) -> int | None:
    text = priority_class.annotations.get(annotation)
    if text is None:
        return None
    number = int(text) if len(text) <= bits and _NUMBER.fullmatch(text) else None
    if number is None or not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"{annotation}: {text!r} is not a number of {bits} bits")
    return number


class Sparing:
    """Says which pods are not to go for which others."""

    def __init__(self, classes: Lister[PriorityClass]) -> None:
        self._classes = classes
        self._warned: set[str] = set()

    def is_exempt(self, victim: Pod, preemptor: Pod, now: float) -> bool:
        """Whether the victim is spared by this preemptor at this time, in seconds since the epoch."""
        name = victim.spec.priority_class_name
        if not name:
            return False
        priority_class = self._classes.get(name)
        if priority_class is None:
            self._warn(f"priority class {name} of pod {victim.key} is gone: pods of it are not spared")
            return False
        if preemptor.spec.preemption_policy == "Never":
            return True
        try:
            toleration = Toleration.of(priority_class)
        except ValueError as error:
            self._warn(f"priority class {name}: {error}: pods of it are not spared")
            return False
        if preemptor.priority >= toleration.minimum_priority:
            return False
        if toleration.seconds < 0:
            return True
        scheduled = victim.condition("PodScheduled")
        if scheduled is None or scheduled.status != "True":
            return True
        return _seconds(scheduled.last_transition_time) + toleration.seconds > now

    def _warn(self, text: str) -> None:
        """Once each: preemption asks about the same pods again and again."""
        if text not in self._warned:
            if len(self._warned) >= MOST_WARNINGS:
                self._warned.clear()
            self._warned.add(text)
            log.warning("%s", text)


def _seconds(time: str | None) -> float:
    """Long ago, if it is not told or cannot be read."""
    try:
        return datetime.fromisoformat(time or "").timestamp()
    except ValueError:
        return float("-inf")


class SparingDryRun(NamingDryRun):
    """Tries nodes for one pod with victims that are not spared; the time is that of its making."""

    def __init__(
        self,
        handle: Handle,
        cycle: CycleState,
        pod: Pod,
        budgets: list[PodDisruptionBudget],
        sparing: Sparing,
    ) -> None:
        super().__init__(handle, cycle, pod, budgets)
        self._sparing = sparing

    def potential_victims(self, node: NodeInfo) -> list[Pod]:
        below = super().potential_victims(node)
        return [pod for pod in below if not self._is_exempt(pod)]

    def may_go_besides(self, pods: Sequence[Pod], others: Sequence[Pod]) -> bool:
        return super().may_go_besides(pods, others) and not any(map(self._is_exempt, pods))

    def _is_exempt(self, pod: Pod) -> bool:
        return self._sparing.is_exempt(pod, self._pod, self._now)
