"""`sys.stdout` and `sys.stderr` taken in hand, with and without a terminal and a log file."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import pytest

from moorage.cli.terminal import output as outputs
from moorage.cli.terminal.output import Output
from moorage.cli.terminal.screen import Size
from tests.cli.running import refused, run
from tests.cli.terminal.sessions import Terminal


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("PYTHONBREAKPOINT", raising=False)
    with Terminal(80, 24) as terminal:
        yield terminal


def on(terminal: Terminal) -> TextIO:
    return open(terminal.file, "w", encoding="utf-8", closefd=False)


def write(text: str, stream: TextIO | None = None) -> None:
    (stream or sys.stdout).write(text)


def frame(size: Size) -> list[str]:
    return ["", "frame"]


def test_streams_that_somebody_keeps_are_good_for_ever(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = on(terminal)
    monkeypatch.setattr(sys, "stdout", original)
    monkeypatch.setattr(sys, "stderr", on(terminal))
    with Output() as output:
        handler = logging.StreamHandler()
        output.show(frame)
        terminal.wait_for_row("frame")
        handler.emit(logging.makeLogRecord({"msg": "during it"}))
        sys.stdout.buffer.write("bytes é".encode()[:-1])
        sys.stdout.buffer.write("é\n".encode()[-2:])
        assert (sys.stdout.encoding, sys.stdout.isatty(), sys.stdout.fileno()) == (
            "utf-8",
            True,
            terminal.file,
        )
        assert sys.stdout.line_buffering is original.line_buffering
    assert sys.stdout is original
    handler.emit(logging.makeLogRecord({"msg": "after it"}))
    terminal.wait_for_row("after it")
    assert terminal.text() == ["during it", "bytes é", "after it"]


def test_a_line_that_a_thread_has_not_ended(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", on(terminal))
    with Output() as output:
        output.show(frame)
        write("begun, ")
        thread = threading.Thread(target=write, args=("of a thread",))
        thread.start()
        thread.join()
        terminal.wait_for_row("of a thread")
        terminal.wait_for_row("begun,")
        write("ended\n")
        terminal.wait_for_row("begun, ended")
    terminal.settle()
    assert terminal.text() == ["of a thread", "begun, ended"]


@pytest.mark.parametrize("rows", [2, 3, 4, 20])
def test_many_lines_without_an_end_fit_the_terminal(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(sys, "stdout", on(terminal))
    ended = threading.Event()

    def begin(number: int) -> None:
        write(f"line {number}" + "." * 100)
        ended.wait()

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(30)]
    with Output() as output:
        output.show(frame)
        terminal.wait_for_row("frame")
        terminal.resize(80, rows)
        for thread in threads:
            thread.start()
        if rows > 3:
            terminal.wait_for_row("line")
        terminal.settle()
        assert len(terminal.lines_with("frame")) == (rows > 2)
        ended.set()
        for thread in threads:
            thread.join()
    terminal.settle()
    assert sorted(terminal.text()) == sorted(f"line {number}" + "." * 100 for number in range(30))


def test_what_goes_elsewhere_still_does(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    monkeypatch.setattr(sys, "stdout", on(terminal))
    with (tmp_path / "stderr").open("w") as file:
        monkeypatch.setattr(sys, "stderr", file)
        with Output(log) as output:
            assert output.has_frames
            write("to the terminal\n")
            write("to the file", sys.stderr)
            write("\n", sys.stderr)
    terminal.settle()
    assert terminal.text() == ["to the terminal"]
    assert (tmp_path / "stderr").read_text() == "to the file\n"
    assert log.read_text() == "to the terminal\nto the file\n"


def test_a_log_file_without_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    with Output(log) as output:
        assert not output.has_frames
        write("in pieces, ")
        assert capsys.readouterr().out == "in pieces, ", "nothing is held back"
        write("of a line\nopen end")
        output.log("a decision")
    assert capsys.readouterr().out == "of a line\nopen end"
    assert log.read_text() == "before\nin pieces, of a line\na decision\nopen end\n"


def test_a_log_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, why in ((tmp_path, "Is a directory"), (tmp_path / "none" / "log", "No such file or directory")):
        result = run("up", "--no-scheduler", f"--log-file={path}")
        assert refused(result) == f"--log-file: {path}: {why}; give a file that can be written"
    with Output(Path("/dev/full")):
        write("one\n")
        write("two\n")
    shown = capsys.readouterr()
    assert shown.out == "one\ntwo\n"
    assert shown.err == "--log-file: /dev/full: No space left on device; nothing more is written to it\n"


def test_what_takes_long_is_named(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", on(terminal))
    monkeypatch.setattr(sys, "stderr", on(terminal))
    with Output() as output:
        output.doing("What is done at once")
        monkeypatch.setattr(outputs, "PATIENCE_SECONDS", 0.01)
        output.doing("Making nodes")
        terminal.wait_for_row("Making nodes ...")
        output.doing(None)
    assert terminal.text() == ["Making nodes ..."]


def test_a_view_that_fails_hides_nothing(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(size: Size) -> list[str]:
        raise RuntimeError("no view")

    monkeypatch.setattr(sys, "stdout", on(terminal))
    with Output() as output:
        output.show(fails)
        write("still here\n")
        terminal.wait_for_text("RuntimeError: no view")
    assert terminal.text().count("still here") == 1


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_all_is_written_when_the_frame_is_gone(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", on(terminal))
    with Output() as output:
        output.show(frame if term == "xterm" else None)
        for number in range(500):
            write(f"line {number}\n")
        output.show(None)
        terminal.settle()
        assert terminal.text()[-1] == "line 499"
        assert terminal.lines_with("frame") == []


@pytest.mark.parametrize(
    ("variable", "value", "frames", "colours"),
    [
        ("TERM", "xterm", True, True),
        ("TERM", "dumb", False, False),
        ("NO_COLOR", "1", True, False),
        ("PYTHONBREAKPOINT", "ipdb.set_trace", False, False),
    ],
)
def test_what_the_environment_wants(
    terminal: Terminal,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    frames: bool,
    colours: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "stdout", on(terminal))
    with Output() as output:
        assert (output.has_frames, output.has_colours) == (frames, colours)
        write("a line\n")
    terminal.wait_for_row("a line")
