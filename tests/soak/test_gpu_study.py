"""The GPU study gives what the authors of the trace found, and the policy of its own more."""

from __future__ import annotations

import os
import shutil
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from examples.gpu_study.__main__ import SAMPLE
from examples.gpu_study.study import POLICIES
from examples.gpu_study.tables import compare


@pytest.mark.soak
def test_the_figures_of_the_paper(soak: bool, tmp_path: Path) -> None:
    """Needs the whole trace for more than one workload: MOORAGE_OPENB names its folder."""
    data = Path(os.environ.get("MOORAGE_OPENB") or SAMPLE) if soak else tenth_of_the_sample(tmp_path)
    policies = list(POLICIES) if soak else ["FGD", "Moorage"]
    rows = compare(data, range(42, 52) if soak else [42], policies)
    for row in rows:
        if row["policy"] != "Moorage":
            assert row["100"] == pytest.approx(row["paper_100"], abs=1), row
            assert row["130"] == pytest.approx(row["paper_130"], abs=1), row
    by_case = {(row["workload"], row["policy"]): row for row in rows}
    workloads = {row["workload"] for row in rows}
    for workload in workloads:
        cases = [by_case[workload, policy] for policy in policies if policy != "Moorage"]
        for one, other in permutations(cases, 2):
            if one["paper_100"] > other["paper_100"] + 1:
                assert one["100"] > other["100"], (one, other)
    gains = [by_case[workload, "Moorage"]["100"] - by_case[workload, "FGD"]["100"] for workload in workloads]
    assert min(gains) > 0
    assert fmean(gains) >= 0.5


def tenth_of_the_sample(folder: Path) -> Path:
    """Every tenth node: so much smaller a cluster is filled to the same share, in a tenth of the time."""
    head, *nodes = (SAMPLE / "nodes.csv").read_text().splitlines(keepends=True)
    (folder / "nodes.csv").write_text("".join([head, *nodes[9::10]]))
    shutil.copy(SAMPLE / "pods-multigpu20.csv", folder)
    return folder
