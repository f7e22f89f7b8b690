"""Results as people read them, and beside those of the paper."""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from examples.gpu_study.trace_files import BadFile, read_nodes, read_pods
from examples.gpu_study.working import Task, run_all

COMPARED_AT = ("100", "130")
NODE_FILES = ("nodes.csv", "openb_node_list_gpu_node.csv")
POD_FILES = ("pods-*.csv", "pods-*.csv.gz", "openb_pod_list_*.csv")
"""As the sample has them, and as the authors' repository has them."""
EXPECTED = Path(__file__).parent / "sample" / "expected.csv"

Row = dict[str, Any]


def print_runs(policy: str, results: Sequence[Row]) -> None:
    """The means over all seeds."""
    _print_line("asked for", "allocated", "fragmented")
    for percent in results[0]["at"]:
        seen = [result["at"][percent] for result in results]
        means = (fmean(each[key] for each in seen) for key in ("allocated_percent", "fragmented_percent"))
        _print_line(f"{percent} %", *(f"{mean:.2f} %" for mean in means))
    seconds = fmean(result["seconds"] for result in results)
    seeds = f"seeds {results[0]['seed']} to {results[-1]['seed']}"
    sys.stdout.write(f"\n{policy}, {seeds}, {seconds:.1f} seconds each; shares are of all GPUs.\n")


def compare(data: Path, seeds: Sequence[int], policies: Sequence[str]) -> list[Row]:
    """Every workload of the folder that the paper has, with every policy."""
    expected = _expected()
    nodes = read_nodes(_node_file(data))
    found = {name: file for name, file in _pod_files(data).items() if (name, policies[0]) in expected}
    if not found:
        raise BadFile(f"{data}: no pods-WORKLOAD.csv or openb_pod_list_WORKLOAD.csv of the paper's workloads")
    workloads = {name: read_pods(file) for name, file in found.items()}
    cases = [(workload, policy) for workload in workloads for policy in policies]
    tasks = [Task(nodes, workloads[name], policy, seed) for name, policy in cases for seed in seeds]
    results = iter(run_all(tasks))
    rows = []
    for workload, policy in cases:
        runs = [next(results) for _ in seeds]
        row: Row = {"workload": workload, "policy": policy, "runs": len(runs)}
        for percent in COMPARED_AT:
            row[percent] = round(fmean(each["at"][percent]["allocated_percent"] for each in runs), 2)
            row[f"paper_{percent}"] = expected.get((workload, policy), {}).get(percent)
        row["seconds"] = fmean(each["seconds"] for each in runs)
        rows.append(row)
    return rows


def print_comparison(rows: Sequence[Row]) -> None:
    _print_line("workload", "policy", *(f"{who} {at} %" for at in COMPARED_AT for who in ("ours", "paper")))
    for row in rows:
        figures = [row[key] for percent in COMPARED_AT for key in (percent, f"paper_{percent}")]
        shown = ("" if figure is None else f"{figure:.2f}" for figure in figures)
        _print_line(row["workload"], row["policy"], *shown)
    runs = f"means of {rows[0]['runs']} runs"
    sys.stdout.write(f"\nGPU share allocated when so many percent of all GPUs were asked for; {runs}.\n")


def _expected() -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    with EXPECTED.open(newline="") as lines:
        for row in csv.DictReader(lines):
            case = found.setdefault((row["workload"], row["policy"]), {})
            case[row["arrived_percent"]] = float(row["allocated_percent_mean"])
    return found


def _node_file(data: Path) -> Path:
    for name in NODE_FILES:
        if (data / name).exists():
            return data / name
    raise BadFile(f"{data}: no {' or '.join(NODE_FILES)}")


def _pod_files(data: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for pattern in POD_FILES:
        before, _, after = pattern.partition("*")
        for file in sorted(data.glob(pattern)):
            found.setdefault(file.name.removeprefix(before).removesuffix(after), file)
    return found


def _print_line(*cells: str) -> None:
    sys.stdout.write("  ".join(f"{cell:<13}" for cell in cells).rstrip() + "\n")
