"""Runs Kubernetes' end-to-end tests of scheduling on the embedded cluster; exits 1 when one fails."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conformance.build import suite as suite_program
from conformance.cluster import GONE_SECONDS, Cluster, Scheduler, cluster
from conformance.left_out import LEFT_OUT
from conformance.results import Result, any_failed, as_json, counted, markdown, rows
from conformance.suite import Suite, SuiteError, matching
from tests.controlplane.go_programs import (
    KUBERNETES_VERSION,
    BuildError,
    cache,
    interrupted_by_signals,
    say,
)
from tests.controlplane.servers import ControlPlaneError


@click.command("make conformance ARGS=...")
@click.option(
    "--scheduler",
    type=click.Choice(["moorage", "kube-scheduler"]),
    default="moorage",
    help="The scheduler under test; kube-scheduler is there to compare with.",
)
@click.option(
    "--focus", default="", help="Only tests in whose names this regular expression finds something."
)
@click.option("--repeat", type=click.IntRange(min=1), default=1, help="How often each test is run.")
def main(scheduler: Scheduler, focus: str, repeat: int) -> None:
    """Run Kubernetes' end-to-end tests of scheduling on the embedded cluster."""
    interrupted_by_signals()
    try:
        matching((), focus)  # before it takes minutes to find out
        program = suite_program()
        sys.exit(_run(program, scheduler, focus, repeat))
    except (BuildError, ControlPlaneError, SuiteError, OSError) as error:
        say(f"error: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)


def _run(program: Path, scheduler: Scheduler, focus: str, repeat: int) -> int:
    title = f"[sig-scheduling] of Kubernetes {KUBERNETES_VERSION} on moorage up with {scheduler}"
    folder = cache("conformance") / "results" / time.strftime("%Y-%m-%d-%H%M%S")
    folder.mkdir(parents=True)
    print(title)
    results: list[Result] = []
    with cluster(scheduler, folder) as running:
        suite = Suite(program, running.kubeconfig, folder)
        tests = matching(suite.tests(), focus)
        if not tests:
            raise SuiteError(f"no test matches --focus {focus!r}")
        try:
            for result in _results(suite, running, tests, repeat):
                results.append(result)
                print(result.line(), flush=True)
        finally:
            _write(folder, title, results)
    for row in rows(results):
        if row.worst.reason:
            name, outcome, _ = row.cells()
            print(f"\n{name}\n  {outcome}")
    print(f"\n{counted(results)}\nresults and logs: {folder}")
    return 1 if any_failed(results) else 0


def _results(suite: Suite, running: Cluster, tests: Sequence[str], repeat: int) -> Iterator[Result]:
    number = 0
    for _ in range(repeat):
        for test in tests:
            if reason := LEFT_OUT.get(test):
                yield Result(test, "left out", reason=reason)
                continue
            number += 1
            result = suite.run(test, f"{number:03}")
            if not running.becomes_clean():
                reason = f"its namespaces are still there after {GONE_SECONDS:.0f} s"
                result = Result(test, "failed", result.seconds, result.reason or reason, result.log)
            yield result


def _write(folder: Path, title: str, results: Sequence[Result]) -> None:
    (folder / "results.md").write_text(markdown(title, results))
    (folder / "results.json").write_bytes(as_json(title, results))


if __name__ == "__main__":
    main()
