"""Judges the choices of another scheduler as they come, and looks back where it would not agree."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from msgspec.structs import replace

from moorage.api.pods import Pod
from moorage.client import Client
from moorage.config import KubeSchedulerConfiguration
from moorage.config.feature_gates import FeatureGates
from moorage.framework.handle import Services
from moorage.framework.loading.registry import Registry
from moorage.framework.logger import Logger
from moorage.process.shadow_tally import Judged, Tally
from moorage.scheduler.profiles import make_profiles
from moorage.what_if.agreement import Agreement, Verdict
from moorage.what_if.failed_plugins import FailedPlugins
from moorage.what_if.recent import Expected, RememberingDoor
from moorage.what_if.timing import NOT_SEARCHED, Case, Timing

log = Logger(__name__)

AHEAD_SECONDS = 1.0
MOST_AHEAD_SECONDS = 20.0
"""So long an exception waits for what the other scheduler may have known before it was seen: until all pods
are decided on that had come by then."""
MOST_UNDECIDED = 256
"""From so many on, those that have gone are looked for among the pods that were not decided on; and again
when there are twice as many as were left."""
MOST_OPEN = 2000
MOST_SEARCHES = 2
SEARCH_SECONDS = 0.4
MOST_FOR_LATER = 100
"""So many exceptions wait at most, are looked into at length in one go and for so long each, and are left for
the next turn. Where all is different, nobody has to know the moment of each."""


class ChoiceJudge:
    """Judges what comes through its `door`, once it `is_judging`.

    `theirs` is the percentageOfNodesToScore of the scheduler in charge, if it is not that of `config`.
    `on_verdict` is told each verdict. Raises what is wrong with the configuration or a plugin.
    """

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        client: Client | None = None,
        theirs: int | None = None,
        gates: FeatureGates | None = None,
        on_verdict: Callable[[Judged], None] = lambda judged: None,
        clock: Callable[[], float] = time.monotonic,
        tally: Tally | None = None,
    ) -> None:
        self.tally = tally or Tally()
        self.failed_plugins = FailedPlugins()
        self._clock = clock
        self._on_verdict = on_verdict
        self.door = RememberingDoor(clock=clock)
        self.services = Services(
            door=self.door,
            gates=gates or FeatureGates(),
            client=client,
            observer=self.failed_plugins,
            may_bind=lambda: False,
        )
        # Extenders may keep what they are asked about: none is asked by two.
        self.profiles = make_profiles(replace(config, extenders=[]), registry, self.services)
        self.agreement = Agreement(self.profiles, config.percentage_of_nodes_to_score, theirs=theirs)
        self._timing = Timing(self.agreement, self.door, most_seconds=SEARCH_SECONDS)
        self._expected = Expected(
            self.services.state, self.services.nominations, counts=self.agreement.judges
        )
        self.door.follow(self._expected)
        self.door.coming = self._coming
        self.open: deque[Case] = deque()
        """Exceptions that wait to be looked into."""
        self.undecided: dict[str, Pod] = {}
        self._look_above = MOST_UNDECIDED
        self.is_judging = False

    def finish(self) -> None:
        """Settles what still waits: nothing more is heard."""
        self.is_judging = False
        cases = list(self.open)
        self.open.clear()
        for case in cases[-MOST_FOR_LATER:]:
            self.settle([case])
        if cases[:-MOST_FOR_LATER]:
            self.settle(cases[:-MOST_FOR_LATER])

    def close(self) -> None:
        for profile in self.profiles.values():
            profile.close()

    # What comes through the door

    def _coming(self, old: Pod | None, new: Pod) -> str:
        """A pod comes, and the state does not know yet what is new of it."""
        if not self.agreement.judges(new):
            return ""
        if old is None or old.uid != new.uid:
            if not new.spec.node_name:
                self._note_undecided(new)
            return ""
        if old.spec.node_name:
            return ""
        if new.spec.node_name:
            self.undecided.pop(new.uid, None)
            if not self._expected.is_announced(old, new.spec.node_name):  # it was judged then
                self._bound(old, new.spec.node_name)
            return ""
        self._note_undecided(new)
        node = new.status.nominated_node_name
        return self._nominated(old, new) if node and node != old.status.nominated_node_name else ""

    def _bound(self, pod: Pod, node: str) -> None:
        verdict = self._judge(pod, node) if self.is_judging else None
        if verdict is not None:
            self._take(verdict, pod)

    def _nominated(self, old: Pod, new: Pod) -> str:
        """A pod is nominated. The node, if it is as good as bound there."""
        node = new.status.nominated_node_name
        verdict = self._judge(old, node)
        if verdict is None:
            return ""
        if verdict.kind == "infeasible" and self.agreement.could_be_freed(old, node):
            return ""  # victims have to go first
        waits_for_other_reasons = old.condition("PodScheduled") != new.condition("PodScheduled")
        if waits_for_other_reasons and verdict.kind == "disagreed":
            return ""  # it was preferred for its victims, who are gone by now
        self._expected.announce(new, node)
        self.undecided.pop(new.uid, None)
        if self.is_judging:
            self._take(verdict, old)
        return node

    def _take(self, verdict: Verdict, pod: Pod) -> None:
        if not verdict.is_exception:
            self._tell(verdict, pod)
        elif len(self.open) < MOST_OPEN:
            self.open.append(Case(pod, verdict, self.door.number, self._clock()))
        else:
            self.tally.not_looked_into += 1
            self._tell(verdict, pod)

    def _note_undecided(self, pod: Pod) -> None:
        """Keeps in mind which pods the other one has not decided on, in the order in which they came."""
        condition = pod.condition("PodScheduled")
        if (
            pod.deleting
            or pod.spec.scheduling_gates
            or (condition is not None and condition.status == "False")
        ):
            self.undecided.pop(pod.uid, None)
        else:
            self.undecided.setdefault(pod.uid, pod)

    def first_undecided(self) -> int:
        """The number with which the first of them came."""
        if len(self.undecided) > self._look_above:
            pods = self.undecided.values()
            self.undecided = {pod.uid: pod for pod in pods if self._is_there(pod)}
            self._look_above = max(MOST_UNDECIDED, 2 * len(self.undecided))
        while self.undecided:
            pod = next(iter(self.undecided.values()))
            if self._is_there(pod):
                return self.door.arrival(pod).number
            del self.undecided[pod.uid]
        return self.door.number

    def _is_there(self, pod: Pod) -> bool:
        known = self.door.find(pod)
        return known is not None and known.uid == pod.uid

    def _judge(self, pod: Pod, node: str) -> Verdict | None:
        began = time.perf_counter()
        try:
            return self.agreement.judge(pod, node)
        except Exception as error:
            self._fail(pod, error)
            return None
        finally:
            self.tally.took(time.perf_counter() - began)

    # Exceptions

    def settle_due(self) -> float:
        """Looks into those that need not wait any more; how many seconds that took."""
        due = self.due()
        if not due:
            return 0.0
        began = time.perf_counter()
        self.settle(due)
        return time.perf_counter() - began

    def due(self) -> list[Case]:
        """Takes those cases out that need not wait any more."""
        now, first = self._clock(), self.first_undecided()
        found: list[Case] = []
        while self.open:
            waited = now - self.open[0].time
            if waited < AHEAD_SECONDS or (first < self.open[0].number and waited < MOST_AHEAD_SECONDS):
                break
            found.append(self.open.popleft())
        return found

    def settle(self, cases: list[Case]) -> None:
        try:
            explained = self._timing.all_explained(cases, MOST_SEARCHES)
        except Exception as error:
            for case in cases:
                self._fail(case.pod, error)
            return
        later: list[Case] = []
        for case, verdict in explained:
            if not verdict.words.endswith(f"({NOT_SEARCHED})"):
                self._tell(verdict, case.pod)
            elif self.is_judging and len(self.open) + len(later) < MOST_FOR_LATER:
                later.append(case)
            else:
                self.tally.not_looked_into += 1
                self._tell(verdict, case.pod)
        self.open.extendleft(reversed(later))

    def _tell(self, verdict: Verdict, pod: Pod) -> None:
        self._on_verdict(self.tally.add(verdict, pod.spec.scheduler_name))

    def _fail(self, pod: Pod, error: Exception) -> None:
        self.tally.failed()
        log.error(error, "A choice could not be judged", pod=pod)
