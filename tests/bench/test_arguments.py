"""The command line of the benchmarks."""

import pytest

from bench.__main__ import BENCHMARKS, run
from bench.drain import programs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("speed", "No such command 'speed'. (`python -m bench --help` shows what there is)"),
        ("drain plane", "'plane' is not one of 'plain', 'distinct',"),
        ("drain plain --nodes 0", "Invalid value for '--nodes': 0 is not in the range x>=1"),
        (
            "drain plain --nodes 5 --pods 551",
            "5 nodes have room for at most 550 pods of plain, not for 551",
        ),
        (
            "drain --pods 2001",
            "500 nodes have room for at most 2000 pods of preemption, not for 2001",
        ),
        ("steady --rate 0", "Invalid value for '--rate'"),
        ("before no-such-commit", "commit no-such-commit cannot be had: "),
    ],
)
def test_bad_input_gets_one_line(arguments: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments.split()) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith("error: ") and message in said.err


def test_help_has_every_benchmark_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    for name in BENCHMARKS:
        assert f"\n  {name} " in said
    assert 'make bench ARGS="drain plain --nodes 500 --pods 2000 --rounds 1"' in said


def test_without_a_control_plane_it_is_said_how_to_have_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "available", lambda: "go is not on PATH")
    assert run(["drain", "plain"]) == 2
    assert capsys.readouterr().err == (
        "error: go is not on PATH; with Go on PATH, `make controlplane` builds them\n"
    )
