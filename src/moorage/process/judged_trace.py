"""Judges the choices in a trace, as a shadow would have that was there."""

from __future__ import annotations

from collections.abc import Callable

from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import Registry
from moorage.process.choice_judge import ChoiceJudge
from moorage.process.shadow_tally import Judged, Tally
from moorage.what_if.trace.changes import Change, Trace

TURN_SECONDS = 0.1


class JudgedTrace:
    """Walks through a trace; its time is that of the trace.

    Judged are pods that are in the trace before they have a node.
    """

    def __init__(
        self,
        trace: Trace,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        theirs: int | None = None,
        on_verdict: Callable[[Judged], None] = lambda judged: None,
    ) -> None:
        self._trace = trace
        self._now = trace.head.began
        self._next_turn = 0.0
        self.tally = Tally(self._clock)
        self.judge = ChoiceJudge(
            config,
            registry,
            theirs=theirs,
            on_verdict=on_verdict,
            clock=self._clock,
            tally=self.tally,
        )
        self.judge.services.listers.set_synced()
        self.judge.is_judging = True

    def run(self, progress: Callable[[float], None] = lambda now: None) -> None:
        """Judges all of it; `progress` is told the time of each change."""
        try:
            for change in self._trace:
                self._now = change.time
                if self._now >= self._next_turn:
                    self.judge.settle_due()
                    self._next_turn = self._now + TURN_SECONDS
                self._happen(change)
                progress(change.time)
        finally:
            self.judge.finish()
            self.judge.close()

    def _happen(self, change: Change) -> None:
        item = change.item
        if change.gone or (isinstance(item, Pod) and item.finished):
            self.judge.door.remove(item)
        else:
            self.judge.door.put(item)

    def _clock(self) -> float:
        return self._now
