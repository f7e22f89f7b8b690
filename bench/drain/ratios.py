"""The ratios on record: what Moorage was seen to reach, which it must not fall far behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from bench.bounds import Check, Outcomes
from bench.drain.draining import Drained
from bench.drain.report import Compared
from bench.drain.workload import Size

FILE = Path(__file__).with_name("ratios.json")
_SLACK = 0.2


class Ratio(NamedTuple):
    """Moorage's figures as multiples of kube-scheduler's, and the medians of both that they come from."""

    pods_per_second: float
    cpu: float
    nodes: int
    pods: int
    rounds: int
    commit: str
    moorage: Drained
    original: Drained

    @property
    def size(self) -> Size:
        return Size(self.nodes, self.pods)


Ratios = Mapping[str, Ratio]


def read(file: Path = FILE) -> dict[str, Ratio]:
    if not file.exists():
        return {}
    found = json.loads(file.read_text())["workloads"]
    return {name: _ratio(**fields) for name, fields in found.items()}


def write(found: Iterable[Compared], machine: Mapping[str, Any], file: Path = FILE) -> None:
    """Puts what was measured in full size on record; other workloads keep theirs."""
    ratios = read(file)
    for each in found:
        if each.of_full_size:
            ratios[each.workload.name] = ratio_of(each, str(machine["commit"]))
    workloads = {name: _document(ratio) for name, ratio in ratios.items()}
    file.write_text(json.dumps({"machine": machine, "workloads": workloads}, indent=2) + "\n")


def ratio_of(found: Compared, commit: str) -> Ratio:
    return Ratio(
        round(found.rate_ratio, 2),
        round(found.cpu_ratio, 3),
        *found.size,
        found.rounds,
        commit,
        _rounded(found.moorage),
        _rounded(found.original),
    )


def against_record(found: Compared, ratios: Ratios) -> Outcomes:
    """Fails when a figure is a fifth worse than on record, for the same size."""
    name = found.workload.name
    known = ratios.get(name)
    if known is None or known.size != found.size:
        return
    least, most = known.pods_per_second * (1 - _SLACK), known.cpu * (1 + _SLACK)
    yield Check(f"{name}: pods per second, against the record", found.rate_ratio, least, "x", at_least=True)
    yield Check(f"{name}: CPU per pod, against the record", found.cpu_ratio, most, "x")


def _ratio(moorage: Mapping[str, float], original: Mapping[str, float], **others: Any) -> Ratio:
    return Ratio(moorage=Drained(**moorage), original=Drained(**original), **others)


def _document(ratio: Ratio) -> dict[str, Any]:
    return {**ratio._asdict(), "moorage": asdict(ratio.moorage), "original": asdict(ratio.original)}


def _rounded(run: Drained) -> Drained:
    return Drained(**{name: round(value, 2) for name, value in asdict(run).items()})
