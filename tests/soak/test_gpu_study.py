"""The GPU study gives what the authors of the trace found, and the policy of its own more."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from examples.gpu_study.__main__ import SAMPLE
from examples.gpu_study.study import POLICIES
from examples.gpu_study.tables import COMPARED_AT, compare

SMALL = "pods-multigpu20.csv"


@pytest.mark.soak
def test_the_figures_of_the_paper(soak: bool, tmp_path: Path) -> None:
    """All workloads, policies and ten seeds; with small numbers one workload, the two best and one seed."""
    policies = list(POLICIES) if soak else ["FGD", "Moorage"]
    rows = compare(SAMPLE if soak else only_one_workload(tmp_path), range(42, 52 if soak else 43), policies)
    for row in rows:
        for percent in COMPARED_AT if row["policy"] != "Moorage" else ():
            assert row[percent] == pytest.approx(row[f"paper_{percent}"], abs=1), row
    by_case = {(row["workload"], row["policy"]): row for row in rows}
    workloads = {row["workload"] for row in rows}
    assert len(workloads) == (5 if soak else 1)
    for workload in workloads:
        cases = [by_case[workload, policy] for policy in policies if policy != "Moorage"]
        for one, other in permutations(cases, 2):
            for percent in COMPARED_AT:
                if one[f"paper_{percent}"] > other[f"paper_{percent}"] + 1:
                    assert one[percent] > other[percent], (one, other)
    gains = [by_case[workload, "Moorage"]["100"] - by_case[workload, "FGD"]["100"] for workload in workloads]
    assert min(gains) > 0
    assert fmean(gains) >= 0.5
    if soak:
        assert fmean(row["seconds"] for row in rows) < 30


def only_one_workload(folder: Path) -> Path:
    for name in ("nodes.csv", SMALL):
        (folder / name).symlink_to(SAMPLE / name)
    return folder
