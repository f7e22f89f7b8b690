"""What was found, as a table and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import median
from typing import Any

from bench.drain.draining import Drained
from bench.drain.schedulers import MOORAGE, ORIGINAL
from bench.drain.workload import Size, Workload

HEADINGS = (
    f"{'':16}{'pods per second':^25}{'CPU s per 1000 pods':^25}{'peak MB':^15}{'first bind, s':^15}\n"
    f"{'workload':16}" + f"{'Moorage':>9}{'kube-s.':>9}{'ratio':>7}" * 2 + f"{'Moorage':>9}{'kube-s.':>9}" * 2
)


@dataclass(frozen=True)
class Compared:
    """All runs of a workload, by scheduler."""

    workload: Workload
    size: Size
    runs: Mapping[str, Sequence[Drained]]

    @property
    def moorage(self) -> Drained:
        return middle(self.runs[MOORAGE])

    @property
    def original(self) -> Drained:
        return middle(self.runs[ORIGINAL])

    @property
    def rate_ratio(self) -> float:
        return self.moorage.pods_per_second / self.original.pods_per_second

    @property
    def cpu_ratio(self) -> float:
        return self.moorage.cpu_per_thousand / self.original.cpu_per_thousand

    @property
    def rounds(self) -> int:
        return len(self.runs[MOORAGE])

    @property
    def of_full_size(self) -> bool:
        """Whether the bounds hold for it."""
        return self.size == self.workload.size

    def row(self) -> str:
        ours, theirs = self.moorage, self.original
        return (
            f"{self.workload.name:16}"
            f"{ours.pods_per_second:9.0f}{theirs.pods_per_second:9.0f}{self.rate_ratio:7.2f}"
            f"{ours.cpu_per_thousand:9.2f}{theirs.cpu_per_thousand:9.2f}{self.cpu_ratio:7.2f}"
            f"{ours.megabytes:9.0f}{theirs.megabytes:9.0f}{ours.first_bind:9.1f}{theirs.first_bind:9.1f}"
        )

    def data(self) -> dict[str, Any]:
        return {
            "workload": self.workload.name,
            **self.size._asdict(),
            "pods_per_second_ratio": self.rate_ratio,
            "cpu_ratio": self.cpu_ratio,
            "median": {name: asdict(middle(runs)) for name, runs in self.runs.items()},
            "runs": {name: [asdict(run) for run in runs] for name, runs in self.runs.items()},
        }


def middle(runs: Sequence[Drained]) -> Drained:
    """The median of each figure."""
    return Drained(**{each.name: median(getattr(run, each.name) for run in runs) for each in fields(Drained)})
