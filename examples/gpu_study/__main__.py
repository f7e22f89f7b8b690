"""Runs the GPU study from the command line."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from examples.gpu_study.study import FIRST_SEED, POLICIES
from examples.gpu_study.tables import compare, print_comparison, print_runs
from examples.gpu_study.trace_files import BadFile, read_nodes, read_pods
from examples.gpu_study.working import Task, run_all

SAMPLE = Path(__file__).parent / "sample"
MOST_SEEDS = 1000

DESCRIPTION = """
Tries policies for sharing GPUs on the trace of a production cluster. Pods arrive in random order until they
have asked for 130 % of all GPUs, and nobody leaves: how much of the GPUs do they get? Without --nodes and
--pods a sample of the trace is used.
"""
EXAMPLES = """
examples:
  python -m examples.gpu_study --policy Moorage
  python -m examples.gpu_study --nodes nodes.csv --pods pods-default.csv.gz --policy FGD --seeds 10 -o json
  python -m examples.gpu_study --table --data folder-with-the-trace

Seeds are 42, 43, and so on. With -o json: a list with, for each seed, `seed`, `seconds` and `at`, which maps
10, 20, ..., 130 (percent of all GPUs asked for) to `allocated_percent` and `fragmented_percent`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.table == (given.policy is not None):
        parser.error("give --policy NAME, or --table for all of them")
    if given.table and (given.nodes or given.pods):
        parser.error("--table takes --data FOLDER instead of --nodes and --pods")
    if given.data and not given.table:
        parser.error("--data is for --table")
    if bool(given.nodes) != bool(given.pods):
        parser.error("give --nodes and --pods together, or neither for the sample")
    try:
        return _compare(given) if given.table else _run(given)
    except BadFile as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130


def _run(given: argparse.Namespace) -> int:
    nodes = read_nodes(given.nodes or SAMPLE / "nodes.csv")
    pods = read_pods(given.pods or SAMPLE / "pods-multigpu20.csv")
    seeds = range(FIRST_SEED, FIRST_SEED + (given.seeds or 1))
    results = run_all([Task(nodes, pods, given.policy, seed) for seed in seeds])
    if given.output == "json":
        sys.stdout.write(json.dumps(results, indent=2) + "\n")
    else:
        print_runs(given.policy, results)
    return 0


def _compare(given: argparse.Namespace) -> int:
    rows = compare(given.data or SAMPLE, range(FIRST_SEED, FIRST_SEED + (given.seeds or 10)), list(POLICIES))
    if given.output == "json":
        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
    else:
        print_comparison(rows)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.gpu_study",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--nodes", type=Path, metavar="FILE", help="nodes as CSV, plain or .gz")
    parser.add_argument("--pods", type=Path, metavar="FILE", help="pods as CSV, plain or .gz")
    parser.add_argument("--policy", choices=POLICIES, metavar="NAME", help=", ".join(POLICIES))
    parser.add_argument("--seeds", type=_seeds, metavar="N", help="so many runs (1; with --table, 10)")
    parser.add_argument("--table", action="store_true", help="all policies and workloads, beside the paper's")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the trace, for --table")
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table", help="what is printed")
    return parser


def _seeds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {MOST_SEEDS}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
