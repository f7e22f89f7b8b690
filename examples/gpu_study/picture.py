"""Draws what `--table -o json` printed: how much of the GPUs each policy allocates."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SIZE, DOTS_PER_INCH = (8.0, 3.6), 80
COLORS = ("#c9ced6", "#b3bac5", "#9ba5b3", "#838f9f", "#6b798b", "#2f6fb3", "#e08214")
WIDTH = 0.8
LOWEST = 78


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m examples.gpu_study.picture", description=__doc__)
    parser.add_argument("table", type=Path, metavar="JSON", help="what --table -o json printed")
    parser.add_argument("picture", type=Path, metavar="PNG", help="where the picture goes")
    given = parser.parse_args(arguments)
    draw(json.loads(given.table.read_text()), given.picture)


def draw(rows: Sequence[dict[str, Any]], file: Path) -> None:
    from matplotlib.figure import Figure

    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    figure = Figure(figsize=SIZE, dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    bar = WIDTH / len(policies)
    for number, policy in enumerate(policies):
        mine = {row["workload"]: row for row in rows if row["policy"] == policy}
        left = [place - WIDTH / 2 + (number + 0.5) * bar for place in range(len(workloads))]
        heights = [mine[workload]["100"] for workload in workloads]
        axes.bar(left, heights, bar * 0.92, label=policy, color=COLORS[number % len(COLORS)])
        theirs = [(x, mine[w]["paper_100"]) for x, w in zip(left, workloads, strict=True)]
        known = [(x, height) for x, height in theirs if height is not None]
        axes.plot([x for x, _ in known], [height for _, height in known], "k_", markersize=7)
    axes.plot([], [], "k_", label="paper")
    axes.set_xticks(range(len(workloads)), workloads)
    axes.set_ylim(LOWEST, 100)
    axes.set_ylabel("GPUs allocated, %")
    axes.set_title("When pods have asked for all GPUs", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    figure.savefig(file)


if __name__ == "__main__":
    main()
