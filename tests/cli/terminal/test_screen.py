"""The writer of a terminal, at the other end of which is an emulator."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cli.terminal import screen as screens
from moorage.cli.terminal.screen import REPAINT_SECONDS, Screen, Size, readable
from tests.cli.terminal.sessions import Terminal


def frame(size: Size) -> list[str]:
    return ["", f"frame {size.columns}x{size.rows} ".ljust(size.columns - 2, "-"), "宽" * size.columns, "end"]


@contextmanager
def started(terminal: Terminal) -> Iterator[Screen]:
    screen = Screen(terminal.file)
    screen.start()
    try:
        yield screen
    finally:
        screen.stop()


@pytest.mark.parametrize(("columns", "folds"), [(60, False), (80, True), (120, False), (200, True)])
def test_lines_of_many_threads_stay_above_the_frame(
    columns: int, folds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screens, "REFRESH_SECONDS", math.inf)

    def write(name: str) -> None:
        for number in range(50):
            screen.write(f"{name} {number}: {'.' * number * 3}\n")

    with Terminal(columns, 24, folds=folds) as terminal, started(terminal) as screen:
        screen.show(frame)
        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        screen.write("last\n")
        terminal.wait_for_row("last")
        terminal.settle()
        text = terminal.text()
        for name in "abcd":
            mine = [line for line in text if line.startswith(f"{name} ")]
            assert mine == [f"{name} {number}: {'.' * number * 3}".rstrip() for number in range(50)]
        for width, height in ((columns + 40, 24), (columns, 10), (columns // 2, 10), (columns, 30)):
            terminal.resize(width, height)
            assert terminal.lines_with("frame ") == [frame(Size(width, height))[1]]
            assert terminal.lines_with("end") == ["end"]
        screen.show(None)
        screen.wait()
        terminal.settle()
        assert terminal.lines_with("frame ") == []
        assert terminal.screen()[terminal.emulator.cursor.y - 1].startswith("last")


def test_it_does_not_paint_for_every_line() -> None:
    with Terminal(80, 24) as terminal, started(terminal) as screen:
        began = time.monotonic()
        screen.show(frame)
        for number in range(1000):
            screen.write(f"{number}\n")
        screen.write("last\n")
        terminal.wait_for_row("last")
        seconds = time.monotonic() - began
        assert terminal.text().count("999") == 1
        assert terminal.received.count(b"frame 80x24") <= seconds / REPAINT_SECONDS + 2


def test_a_terminal_that_takes_nothing_makes_nobody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screens, "MOST_WAITING", 100_000)
    with Terminal(80, 24) as terminal, started(terminal) as screen:
        screen.show(frame)
        terminal.wait_for_row("frame ")
        with terminal.stopped():
            for number in range(20_000):
                screen.write(f"line {number}\n")
        screen.write("last\n")
        terminal.wait_for_row("last")
        count = sum(int(line.split()[1]) for line in terminal.lines_with("lines are left out"))
        numbers = [int(line.split()[1]) for line in terminal.text() if line.startswith("line ")]
        assert count > 0
        assert count + len(numbers) == 20_000
        assert numbers == sorted(numbers)
        assert numbers[-1] == 19_999, "the last ones are kept"


def test_whoever_reads_has_the_terminal_alone() -> None:
    with Terminal(80, 24) as terminal, started(terminal) as screen:
        screen.show(frame)
        terminal.wait_for_row("frame ")
        screen.write("before\n")
        with screen.aside("name? "):
            terminal.settle()
            assert terminal.text() == ["before", "name?"]
            assert terminal.emulator.cursor.x == len("name? ")
            screen.write("meanwhile\n")
            terminal.settle()
            assert terminal.text() == ["before", "name?"]
            terminal.type("me\n")
            assert os.read(terminal.file, 100) == b"me\n"
        terminal.wait_for_row("frame ")
        assert terminal.text()[:3] == ["before", "name? me", "meanwhile"]


def test_an_end_while_somebody_reads_leaves_the_prompt() -> None:
    with Terminal(80, 24) as terminal, started(terminal) as screen:
        screen.show(frame)
        terminal.wait_for_row("frame ")
        with screen.aside("(Pdb) "):
            terminal.settle()
            screen.show(None)
            screen.wait()
            terminal.settle()
            assert terminal.text() == ["(Pdb)"]
            assert (terminal.emulator.cursor.y, terminal.emulator.cursor.x) == (1, 0)


def test_what_others_write_tears_no_frame() -> None:
    with Terminal(80, 24) as terminal, started(terminal) as screen:
        screen.show(frame)
        terminal.wait_for_row("frame ")
        os.write(terminal.file, b"from a child\n")
        terminal.wait_for_row("from a child")
        screen.write("later\n")
        terminal.wait_for_row("later")
        terminal.settle()
        assert len(terminal.lines_with("frame ")) == 1
        assert terminal.lines_with("from a child") == ["from a child"]


def test_a_terminal_that_is_gone() -> None:
    main, file = os.openpty()
    screen = Screen(file)
    screen.start()
    os.close(main)
    screen.show(frame)
    screen.write("nobody reads this\n")
    screen.wait()
    screen.stop()
    os.close(file)


def test_controls_are_made_visible() -> None:
    assert readable("plain\tand\nwide 宽\n") == "plain\tand\nwide 宽\n"
    assert readable("\x1b[2Ja\x07\x7f\x9b2J\x00\n") == "^[[2Ja^G^?\\x9b2J^@\n"
    assert readable("a\r\nb\rc\n") == "a\nb\nc\n"
    assert readable("\x1b[31mred\n\x1b[1;32mnot") == "\x1b[31mred\x1b[0m\n\x1b[1;32mnot"


@given(st.text(max_size=300))
def test_no_text_moves_the_cursor(text: str) -> None:
    shown = readable(text)
    assert not set(shown.replace("\x1b[", "")) & {
        chr(code) for code in (*range(9), *range(11, 32), 127, 0x9B)
    }
    if all(letter.isprintable() or letter in "\n\t" for letter in text):
        assert shown == text


def test_a_terminal_made_smaller_while_the_frame_is_made_gets_one_for_its_size() -> None:
    def slow(size: Size) -> list[str]:
        if size.rows == 24 and terminal.emulator.lines == 24:
            terminal.change_size(80, 6)
        return [f"row {number} of {size.rows}" for number in range(size.rows - 1)]

    with Terminal(80, 24) as terminal, started(terminal) as screen:
        screen.show(slow)
        terminal.wait_for_row("row 4 of 6")
        assert terminal.lines_with("of 24") == []
