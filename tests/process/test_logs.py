"""Where logs go: one stream or two, collected or line by line, and from which files."""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.framework.logger import Logger
from moorage.process import logs

log = Logger("moorage.scheduler.cycle")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    root = logging.getLogger()
    level, handlers = root.level, root.handlers[:]
    yield
    logs.configure()
    root.handlers[:] = handlers
    root.setLevel(level)


def messages(text: str) -> list[str]:
    return [line.split('"')[1] for line in text.splitlines()]


def written(capture: Capture) -> tuple[list[str], list[str]]:
    """The messages on stdout and stderr since the last call."""
    out, err = capture.readouterr()
    return messages(out), messages(err)


def say_everything() -> None:
    log.info(0, "info")
    log.warning("warning")
    log.error(None, "error")


def test_one_stream(capsys: Capture) -> None:
    logs.configure()
    say_everything()
    assert written(capsys) == ([], ["info", "warning", "error"])


@pytest.mark.parametrize(("form", "out", "err"), [("text", 1, 2), ("json", 2, 1)])
def test_two_streams(form: str, out: int, err: int, capsys: Capture) -> None:
    """A warning counts as an info in JSON, as it does in Go."""
    logs.configure(format=form, split=logs.Split(0, 5.0))
    say_everything()
    assert [len(text.splitlines()) for text in capsys.readouterr()] == [out, err]


def test_infos_are_collected_and_nothing_else(capsys: Capture) -> None:
    logs.configure(split=logs.Split(10_000, 600.0))
    say_everything()
    assert written(capsys) == ([], ["warning", "error"])
    logs.flush()
    assert written(capsys) == (["info"], [])


def test_no_more_is_collected_than_fits(capsys: Capture) -> None:
    logs.configure(split=logs.Split(300, 600.0))
    for number in range(6):
        log.info(0, f"info {number}")
    first = capsys.readouterr().out
    assert 0 < len(messages(first)) < 6
    assert first.endswith("\n")
    assert len(first) <= 300
    log.info(0, "long" * 100)
    rest = capsys.readouterr().out
    assert messages(first + rest) == [*(f"info {number}" for number in range(6)), "long" * 100]


def test_what_was_collected_is_written_after_a_while(capsys: Capture) -> None:
    logs.configure(split=logs.Split(10_000, 0.01))
    log.info(0, "info")
    deadline = time.monotonic() + 10
    while not (text := capsys.readouterr().out) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert messages(text) == ["info"]


def test_configuring_anew_loses_nothing(capsys: Capture) -> None:
    logs.configure(split=logs.Split(10_000, 600.0))
    log.info(0, "info")
    logs.configure()
    assert written(capsys) == (["info"], [])


def test_a_closed_stream_stops_nobody(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched, Path(os.devnull).open("w") as stream:
        patched.setattr(sys, "stdout", stream)
        logs.configure(split=logs.Split(10_000, 600.0))
    log.info(0, "info")
    logs.flush()
    log.error(None, "error")
    assert written(capsys) == ([], ["error"])


@pytest.mark.parametrize(
    ("files", "shown"),
    [("", 1), ("cycle=4", 4), ("c*=3,cycle=9", 3), ("search=9", 1), ("cycle=0", 1), ("cy?le=2,", 2)],
)
def test_a_file_may_have_a_verbosity_of_its_own(files: str, shown: int, capsys: Capture) -> None:
    logs.configure(verbosity=1, files=files)
    for v in range(6):
        log.info(v, f"info {v}")
        assert log.enabled(v) == (v <= shown)
    assert written(capsys) == ([], [f"info {v}" for v in range(shown + 1)])


def test_whoever_collects_ends_when_it_is_closed() -> None:
    handler = logs.CollectingHandler(sys.stdout, logs.Split(100, 600.0))
    handler.close()
    handler._flush_each(0.0)
