"""What is known of another scheduler's choices so far: counts, the last exceptions, metrics and a report.

Nothing in here grows with the number of pods.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, NamedTuple

from moorage.process.instruments import Families, exponential
from moorage.what_if.agreement import KINDS, Verdict

REMEMBERED = 100
"""So many of the last verdicts of a kind are kept for the report."""


class Judged(NamedTuple):
    """A verdict, when it was passed, and for which profile."""

    time: float
    """Seconds since 1970."""
    profile: str
    verdict: Verdict


class Tally(Families):
    """Counts verdicts; `registry` exports the counts."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._clock = clock
        self.began = clock()
        self.counts: Counter[str] = Counter()
        self.failures = 0
        """How many choices could not be judged, since something broke."""
        self.not_looked_into = 0
        """How many exceptions were too many at once to look for the moment in which they were right."""
        self.plugins: Counter[tuple[str, str]] = Counter()
        """Exceptions by the plugin that tipped the scale or rejects the node, and by kind."""
        self.remembered: dict[str, deque[Judged]] = {
            kind: deque(maxlen=REMEMBERED) for kind in KINDS if kind != "agreed"
        }
        self._decisions = self.counter(
            "moorage_shadow_decisions_total",
            "[ALPHA] Choices of the other scheduler, by what is thought of them.",
            ("verdict", "profile"),
        )
        self._disagreements = self.counter(
            "moorage_shadow_disagreements_total",
            "[ALPHA] Choices that are not shared, by the plugin that tips the scale or rejects the node.",
            ("plugin", "verdict", "profile"),
        )
        self._failed = self.counter(
            "moorage_shadow_failures_total", "[ALPHA] Choices that could not be judged."
        )
        self._agreement = self.gauge(
            "moorage_shadow_agreement_ratio",
            "[ALPHA] Share of choices that are shared, of those of which it can be known.",
        )
        self._seconds = self.histograms(
            "moorage_shadow_judgement_duration_seconds",
            "[ALPHA] Duration of judging one choice.",
            exponential(0.0001, 2, 14),
        )

    def took(self, seconds: float) -> None:
        """A choice was judged in this time."""
        self._seconds[()].observe(seconds)

    def failed(self) -> None:
        self.failures += 1
        self._failed[()] += 1

    def add(self, verdict: Verdict, profile: str) -> Judged:
        judged = Judged(self._clock(), profile, verdict)
        kind = verdict.kind
        self.counts[kind] += 1
        self._decisions[kind, profile] += 1
        if verdict.is_exception:
            self.plugins[verdict.plugin, kind] += 1
            self._disagreements[verdict.plugin, kind, profile] += 1
        if kind in self.remembered:
            self.remembered[kind].append(judged)
        return judged

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def exceptions(self) -> int:
        """How many choices are not shared and not explained."""
        return self.counts["disagreed"] + self.counts["infeasible"]

    @property
    def agreement(self) -> float | None:
        """The share of shared choices, 0 to 1, of those of which it can be known; None while there are none.

        An exception that timing explains is not shared either. What may not have been seen by the other one
        says nothing.
        """
        known = self.total - self.counts["sampled"]
        return self.counts["agreed"] / known if known else None

    def read(self) -> None:
        self._agreement[()] = 1.0 if self.agreement is None else self.agreement

    def document(self) -> dict[str, Any]:
        """The report."""
        return {
            "began": _moment(self.began),
            "seconds": round(self._clock() - self.began, 3),
            "decisions": self.total,
            "agreement": self.agreement,
            "verdicts": {kind: self.counts[kind] for kind in KINDS},
            "notJudged": self.failures,
            "notLookedInto": self.not_looked_into,
            "plugins": [
                {"plugin": plugin, "verdict": kind, "decisions": count}
                for (plugin, kind), count in self.plugins.most_common()
            ],
            "last": {
                kind: [document_of(judged) for judged in kept] for kind, kept in self.remembered.items()
            },
        }


def document_of(judged: Judged) -> dict[str, Any]:
    """One verdict for programs."""
    verdict = judged.verdict
    return {
        "time": _moment(judged.time),
        "profile": judged.profile,
        "pod": verdict.pod,
        "node": verdict.node,
        "verdict": verdict.kind,
        "best": list(verdict.best),
        "bestTotal": verdict.best_total,
        "feasible": verdict.feasible,
        "difference": verdict.difference,
        "plugin": verdict.plugin,
        "words": verdict.words,
    }


def _moment(seconds: float) -> str:
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{int(seconds % 1 * 1000):03}Z"
