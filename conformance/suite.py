"""Running tests of the suite, one at a time."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from conformance.results import Result

MINUTES = 20
"""The longest a test may take; the suite's own waits are shorter."""
_LONGEST_REASON = 300


class SuiteError(Exception):
    """The suite itself does not work; the message says why."""


class Suite:
    """The program that holds the tests, for one cluster. Reports and logs go into a folder."""

    def __init__(self, program: Path, kubeconfig: Path, folder: Path) -> None:
        self._folder = folder
        self._command = (
            str(program),
            f"--kubeconfig={kubeconfig}",
            "--provider=skeleton",
            "--allowed-not-ready-nodes=0",
            "--dump-logs-on-failure=false",
            "--ginkgo.no-color",
        )

    def tests(self) -> list[str]:
        """The full names of all tests of scheduling, sorted."""
        report = self._reports("list", "--ginkgo.dry-run", f"--ginkgo.focus={re.escape('[sig-scheduling]')}")
        found = sorted(name for name, spec in report if spec["State"] == "passed")
        if not found:
            raise SuiteError(f"the suite lists no test: see {self._folder / 'list.log'}")
        return found

    def run(self, test: str, mark: str) -> Result:
        """Runs one test; `mark` names its log."""
        focus = f"--ginkgo.focus={_pattern(test)}$"
        for name, spec in self._reports(mark, "--ginkgo.v", f"--ginkgo.timeout={MINUTES}m", focus):
            if name == test and (found := result_of(test, spec, f"{mark}.log")):
                return found
        raise SuiteError(f"the suite did not get as far as the test: see {self._folder / f'{mark}.log'}")

    def _reports(self, mark: str, *flags: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Runs the program and gives what it reports of each test, by its full name."""
        report = self._folder / f"{mark}.json"
        with (self._folder / f"{mark}.log").open("wb") as log:
            subprocess.run(
                [*self._command, *flags, f"--ginkgo.json-report={report}"],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=(MINUTES + 5) * 60,
                check=False,  # the report says it better
            )
        try:
            [suite] = msgspec.json.decode(report.read_bytes())
        except (OSError, ValueError):
            raise SuiteError(f"the suite wrote no report: see {self._folder / f'{mark}.log'}") from None
        report.unlink()
        for spec in suite["SpecReports"]:
            if spec["LeafNodeType"] == "It":
                yield " ".join([*(spec["ContainerHierarchyTexts"] or ()), spec["LeafNodeText"]]), spec


def result_of(test: str, spec: dict[str, Any], log: str) -> Result | None:
    """What a report says of a test; None if it was not looked at."""
    message = (spec.get("Failure") or {}).get("Message", "")
    reason = " ".join(message.split())
    if len(reason) > _LONGEST_REASON:
        reason = reason[:_LONGEST_REASON] + " ..."
    seconds = spec["RunTime"] / 1e9
    match spec["State"]:
        case "passed":
            return Result(test, "passed", seconds, log=log)
        case "skipped" | "pending":  # those that were not asked for are skipped without a reason
            return Result(test, "skipped", reason=reason, log=log) if reason else None
        case other:
            return Result(test, "failed", seconds, reason or other, log)


def _pattern(text: str) -> str:
    """A regular expression of Go's that matches a text and nothing else."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def matching(tests: Sequence[str], focus: str) -> list[str]:
    """The tests whose names a regular expression finds something in."""
    try:
        wanted = re.compile(focus)
    except re.error as error:
        raise SuiteError(f"--focus {focus!r} is no regular expression: {error}") from None
    return [test for test in tests if wanted.search(test)]
