"""What `make conformance` makes of the suite's reports; the suite itself is not built for tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.left_out import LEFT_OUT
from conformance.results import Result, any_failed, as_json, counted, markdown, rows
from conformance.suite import Suite, SuiteError, matching

PREFIX = "[sig-scheduling] "
RESULTS = [
    Result(f"{PREFIX}a", "passed", 1.25, log="001.log"),
    Result(f"{PREFIX}b", "skipped", reason="Only supported for providers [gce]", log="002.log"),
    Result(f"{PREFIX}c", "left out", reason="needs an alpha API"),
    Result(f"{PREFIX}a", "failed", 3.0, "it broke | twice\n  in a row", "003.log"),
]


def test_the_table_has_the_worst_outcome_of_each_test() -> None:
    assert markdown("A title", RESULTS).splitlines() == [
        "# A title",
        "",
        "1 failed, 1 skipped, 1 left out",
        "",
        "| test | outcome | seconds |",
        "|---|---|---:|",
        "| a | failed 1 of 2: it broke \\| twice in a row | 3.0 |",
        "| b | skipped: Only supported for providers [gce] |  |",
        "| c | left out: needs an alpha API |  |",
    ]
    assert any_failed(RESULTS) and not any_failed(RESULTS[:3])
    assert counted(RESULTS[:1] * 2) == "1 passed"
    assert rows(RESULTS[:1] * 2)[0].cells() == ("a", "passed 2 of 2", "1.2")
    assert RESULTS[0].line() == "passed      1.2 s  a"


def test_results_can_be_read_by_programs() -> None:
    read = json.loads(as_json("A title", RESULTS))
    assert read["title"] == "A title"
    assert read["results"][0] == {
        "test": f"{PREFIX}a",
        "state": "passed",
        "seconds": 1.25,
        "reason": "",
        "log": "001.log",
    }


def test_what_is_left_out_has_a_reason() -> None:
    assert len(LEFT_OUT) == 2
    for name, reason in LEFT_OUT.items():
        assert name.startswith(PREFIX) and "[Alpha]" in name
        assert "\n" not in reason and reason[0].islower()


def test_tests_are_chosen_by_a_regular_expression() -> None:
    names = [f"{PREFIX}Preemption works", f"{PREFIX}LimitRange works"]
    assert matching(names, "") == names
    assert matching(names, "Pre.*works$") == names[:1]
    with pytest.raises(SuiteError, match="no regular expression"):
        matching(names, "(")


def spec(name: str, state: str, message: str = "") -> dict[str, Any]:
    return {
        "ContainerHierarchyTexts": ["[sig-scheduling] Group [Serial]"],
        "LeafNodeType": "It",
        "LeafNodeText": name,
        "State": state,
        "RunTime": 2_500_000_000,
        "Failure": {"Message": message},
    }


class Program:
    """Stands in for the suite: writes the report it is given, and its flags, and fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "suite"
        self.file.write_text(
            "#!/bin/sh\n"
            f"printf '%s\\n' \"$@\" > {folder}/flags\n"
            'for each in "$@"; do report=${each#--ginkgo.json-report=}; done\n'
            f'test -e {folder}/given && cp {folder}/given "$report"\n'
            "exit 1\n"
        )
        self.file.chmod(0o755)

    def reports(self, *specs: dict[str, Any]) -> Suite:
        setup = {"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed"}
        (self.folder / "given").write_text(json.dumps([{"SpecReports": [setup, *specs]}]))
        return Suite(self.file, self.folder / "kubeconfig", self.folder)

    def flags(self) -> list[str]:
        return (self.folder / "flags").read_text().splitlines()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_the_suite_lists_its_tests(program: Program) -> None:
    suite = program.reports(spec("b", "passed"), spec("a", "passed"), spec("other", "skipped"))
    assert suite.tests() == [f"{PREFIX}Group [Serial] a", f"{PREFIX}Group [Serial] b"]
    assert "--ginkgo.dry-run" in program.flags()
    with pytest.raises(SuiteError, match="lists no test"):
        program.reports().tests()


@pytest.mark.parametrize(
    ("reported", "message", "expected"),
    [
        ("passed", "", ("passed", 2.5, "")),
        ("failed", "it  broke\n", ("failed", 2.5, "it broke")),
        ("timedout", "", ("failed", 2.5, "timedout")),
        ("interrupted", "x" * 400, ("failed", 2.5, "x" * 300 + " ...")),
        ("skipped", "needs a cloud", ("skipped", 0.0, "needs a cloud")),
    ],
)
def test_a_test_is_run_alone(
    program: Program, reported: str, message: str, expected: tuple[str, float, str]
) -> None:
    name = f"{PREFIX}Group [Serial] a"
    suite = program.reports(spec("a", reported, message), spec("b", "skipped"))
    found = suite.run(name, "007")
    assert (found.test, found.log) == (name, "007.log")
    assert (found.state, found.seconds, found.reason) == expected
    assert "--ginkgo.focus=\\[sig-scheduling\\] Group \\[Serial\\] a$" in program.flags()


def test_a_test_that_was_not_looked_at_is_no_result(program: Program) -> None:
    suite = program.reports(spec("a", "skipped"))
    with pytest.raises(SuiteError, match=r"did not get as far.*007\.log"):
        suite.run(f"{PREFIX}Group [Serial] a", "007")
    (program.folder / "given").unlink()
    with pytest.raises(SuiteError, match=r"no report.*007\.log"):
        suite.run(f"{PREFIX}Group [Serial] a", "007")
