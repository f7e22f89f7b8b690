"""What was gained in memory since an earlier commit: the cycles of both, measured in turns."""

from __future__ import annotations

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.bounds import Check, Failed, Outcomes, Unavailable
from bench.decisions import in_process_of_its_own, source_used
from bench.machine import ROOT

COMMIT = "1c9cab5"
"""The one before plans, kept answers and prepared requests."""
GAINS = {"plain": 3.0, "spread": 2.5, "antiaffinity": 2.5, "affinity": 2.5}
"""How many times as many pods per second, at least."""
_NODES = 5000
_PASSES = 5


def measure(commit: str = COMMIT) -> Outcomes:
    with source_of(commit) as earlier:
        print(f"\nin memory, {_NODES} nodes, in turns with commit {commit}", flush=True)
        sources = {"before": earlier, "now": ROOT / "src"}
        for source in sources.values():
            if not source_used(source).is_relative_to(source):
                raise Unavailable(f"Python does not import Moorage from {source}, where it is to be measured")
        try:
            costs = _costs(sources)
        except subprocess.CalledProcessError as error:
            yield Failed(f"in memory against {commit}", (error.stderr.splitlines() or [str(error)])[-1])
            return
    print(f"{'workload':14}{'µs before':>12}{'µs now':>10}{'gain':>8}")
    gains: dict[str, float] = {}
    for workload in GAINS:
        before, now = median(costs[workload, "before"]), median(costs[workload, "now"])
        gains[workload] = before / now
        print(f"{workload:14}{before:12.0f}{now:10.0f}{before / now:7.2f}x")
    print()
    for workload, least in GAINS.items():
        what = f"{workload} in memory, pods per second against {commit}"
        yield Check(what, gains[workload], least, "x", at_least=True)


def _costs(sources: Mapping[str, Path]) -> dict[tuple[str, str], list[float]]:
    """Microseconds per pod in each pass, by workload and source."""
    costs: dict[tuple[str, str], list[float]] = {}
    for number in range(1, _PASSES + 1):
        print(f"  pass {number} of {_PASSES}", flush=True)
        for workload in GAINS:
            for name, source in sources.items():
                figure = in_process_of_its_own(workload, _NODES, 0, source)
                costs.setdefault((workload, name), []).append(figure.microseconds)
    return costs


@contextmanager
def source_of(commit: str) -> Iterator[Path]:
    """The folder `src` as it was, for the length of a `with` block; the repository is left as it is."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", commit, "src"]
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        raise Unavailable("git is not on PATH; it keeps the commit to compare with") from None
    if done.returncode:
        [reason, *_] = done.stderr.decode(errors="replace").splitlines() or ["git says nothing"]
        raise Unavailable(f"commit {commit} cannot be had: {reason}; name one that `git log` shows")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
        yield Path(folder) / "src"
