"""The ratios on record: what Moorage was seen to reach, which it must not fall far behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.bounds import Check, Outcomes
from bench.drain.report import Compared

FILE = Path(__file__).with_name("ratios.json")
_SLACK = 0.2


class Ratio(NamedTuple):
    """Moorage's figures as multiples of kube-scheduler's."""

    nodes: int
    pods: int
    pods_per_second: float
    cpu: float


Ratios = Mapping[str, Ratio]


def read(file: Path = FILE) -> dict[str, Ratio]:
    if not file.exists():
        return {}
    return {name: Ratio(**found) for name, found in json.loads(file.read_text())["workloads"].items()}


def write(found: Iterable[Compared], machine: Mapping[str, Any], file: Path = FILE) -> None:
    """Puts what was measured in full size on record; other workloads keep theirs."""
    ratios = read(file)
    for each in found:
        if each.of_full_size:
            ratios[each.workload.name] = Ratio(
                *each.size, round(each.rate_ratio, 2), round(each.cpu_ratio, 3)
            )
    workloads = {name: ratio._asdict() for name, ratio in ratios.items()}
    file.write_text(json.dumps({"machine": machine, "workloads": workloads}, indent=2) + "\n")


def against_record(found: Compared, ratios: Ratios) -> Outcomes:
    """Fails when a figure is a fifth worse than on record, for the same size."""
    name = found.workload.name
    known = ratios.get(name)
    if known is None or known[:2] != found.size:
        return
    least, most = known.pods_per_second * (1 - _SLACK), known.cpu * (1 + _SLACK)
    yield Check(f"{name}: pods per second, against the record", found.rate_ratio, least, "x", at_least=True)
    yield Check(f"{name}: CPU per pod, against the record", found.cpu_ratio, most, "x")
