"""Compares moorage.cel with the original's evaluator on random selectors and devices.

    python tools/compare_cel.py PROGRAM [--count 20000] [--seed 1] [--mutate] [--record FILE]

The program reads one JSON document `{"expression", "driver", "device"}` per line and answers each with
`result`, `runtimeError` or `compileError`, `cost` and `maxCost`. With `--record` some hundred cases and their
answers are kept.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.cel.generating import cases
from tests.cel.recordings import answer

_BATCH = 500
_KINDS = ("result", "runtimeError", "compileError")


def main() -> None:
    arguments = _arguments()
    differences: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    recorded: list[dict[str, Any]] = []
    for start in range(0, arguments.count, _BATCH):
        batch = cases(arguments.seed + start, min(_BATCH, arguments.count - start), mutate=arguments.mutate)
        for case, theirs in zip(batch, _theirs(arguments.program, batch), strict=True):
            ours = answer(case["expression"], case["driver"], case["device"])
            kind = next((kind for kind in _KINDS if kind in theirs), "crash")
            kinds[kind] += 1
            if kind == "crash":
                _tell(f"\nthe original crashed on {case['expression']}\n")
                continue
            if difference := _difference(ours, theirs):
                differences[difference] += 1
                if sum(differences.values()) <= arguments.shown:
                    _tell(f"\n{case['expression']}\n  {json.dumps(case['device'])}\n")
                    _tell(f"  theirs {theirs}\n  ours   {ours}\n")
            elif (
                arguments.record
                and len(case["expression"]) < 400
                and _is_interesting(kind, start, len(recorded))
            ):
                recorded.append({**case, "expected": theirs})
        _tell(f"\r{start + len(batch)} of {arguments.count}, {sum(differences.values())} differ")
    _tell(f"\n{dict(kinds)}\ndifferences: {dict(differences) or 'none'}\n")
    if arguments.record:
        with gzip.open(arguments.record, "wt") as file:
            file.writelines(json.dumps(case, ensure_ascii=False, sort_keys=True) + "\n" for case in recorded)


def _tell(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _is_interesting(kind: str, start: int, recorded: int) -> bool:
    """Every kind, and not all from the first batches."""
    return recorded < start // 40 + 20 and (kind != "compileError" or recorded % 4 == 0)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shown", type=int, default=20)
    parser.add_argument("--mutate", action="store_true", help="break most of the expressions")
    parser.add_argument("--record")
    return parser.parse_args()


def _theirs(program: str, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers; a case on which the original crashes has none."""
    lines = "".join(json.dumps(case) + "\n" for case in batch)
    process = subprocess.run([program], input=lines, capture_output=True, text=True, check=False)
    if process.returncode:
        if len(batch) == 1:
            return [{}]
        middle = len(batch) // 2
        return _theirs(program, batch[:middle]) + _theirs(program, batch[middle:])
    wanted = {*_KINDS, "cost", "maxCost"}
    return [
        {name: value for name, value in json.loads(line).items() if name in wanted}
        for line in process.stdout.splitlines()
    ]


def _difference(ours: dict[str, Any], theirs: dict[str, Any]) -> str:
    """What differs; texts of errors may."""
    for kind in _KINDS:
        if (kind in ours) != (kind in theirs):
            return "kind"
    for name in ("result", "cost", "maxCost"):
        if ours.get(name) != theirs.get(name):
            return name
    return ""


if __name__ == "__main__":
    main()
