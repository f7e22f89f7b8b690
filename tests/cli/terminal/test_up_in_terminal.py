"""`moorage up` in a pseudo-terminal: what is on the screen and above it."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.cli.running import pod, write_plugin
from tests.cli.terminal.sessions import UpSession
from tests.controlplane.schedulers import Api
from tests.controlplane.servers import wait_for

NOISY = '''
import logging
import sys
import threading
import warnings

from moorage import FilterPlugin, Status


said = set()


class Noisy(FilterPlugin):
    """Says something in every way there is."""

    def filter(self, cycle, pod, node):
        name = pod.name
        if name in said:
            return Status.unschedulable("again")
        said.add(name)
        self.handle.log.info("log line", extra={"pod": pod, "filler": "x" * 150})
        print(f"{name}: print one"); print(f"{name}: print two")
        print(f"{name}: to stderr", file=sys.stderr)
        print("\\n".join(f"{name}: many {number}." for number in range(30)))
        print(f"{name}: pieces", 1, 2, sep="-", end="")
        threads = [threading.Thread(target=print, args=(f"{name}: thread {n}",)) for n in range(5)]
        for each in threads: each.start()
        for each in threads: each.join()
        print(", and the rest")
        print(f"{name}: wide 你好 " + "宽" * 120 + ".")
        print(f"{name}: control \\x1b[2J\\x1b[10A\\x07 and \\x1b[31mred\\x1b[0m.")
        warnings.warn(f"{name}: a warning", stacklevel=1)
        logging.getLogger("other").warning(f"{name}: plain logger")
        sys.stdout.buffer.write(f"{name}: bytes é\\n".encode())
        if name == "fails":
            raise RuntimeError(f"{name}: broken on purpose")
        if name == "refused":
            return Status.unschedulable("this node is refused for a reason that takes rather many words")
        if name == "last":
            print(f"{name}: open end", end="")
        return None
'''
ONCE = (
    "{0}: print one",
    "{0}: print two",
    "{0}: to stderr",
    *(f"{{0}}: many {number}." for number in range(30)),
    "{0}: pieces-1-2, and the rest",
    "{0}: wide 你好 " + "宽" * 120 + ".",
    "{0}: control ^[[2J^[[10A^G and red.",
    "{0}: bytes é",
)


WIDTHS = {"sixty": 60, "eighty": 80, "fails": 120, "refused": 200, "last": 200}
VERDICTS = {"fails": "Failed", "refused": "Failed"}


@pytest.mark.parametrize("folds", [False, True], ids=["cuts", "folds"])
def test_everything_said_stays_above_the_view(tmp_path: Path, folds: bool) -> None:
    plugin = write_plugin(tmp_path / "noisy.py", NOISY)
    with UpSession(tmp_path, "--nodes=1", f"--plugin={plugin}", columns=60, folds=folds) as session:
        session.wait_ready()
        api = Api(session)
        for name, columns in WIDTHS.items():
            if columns != session.emulator.columns:
                session.resize(columns, 24)
            api.create([pod(name, namespace="default")])
            verdict = VERDICTS.get(name, "Scheduled")
            session.wait_for_row(rf"\d\d:\d\d:\d\d  default/{name} +{verdict}  +\S")
            session.settle()
            assert len(session.lines_with("Nodes  ")) == 1, session.shown()
        assert session.lines_with("last: open end") == ["last: open end"], "shown before it is complete"
        text = session.text()
        for name in WIDTHS:
            for line in ONCE:
                assert text.count(line.format(name)) == 1, f"{line.format(name)}\n{session.shown()}"
            for number in range(5):
                assert text.count(f"{name}: thread {number}") == 1
            numbers = [line for line in text if line.startswith(f"{name}: many")]
            assert numbers == [f"{name}: many {number}." for number in range(30)], "in order"
            for part in (
                f'"log line" pod="default/{name}" filler="{"x" * 150}"',
                f"{name}: a warning",
                f'"{name}: plain logger"',
            ):
                assert len(session.lines_with(part)) == 1, f"{part}\n{session.shown()}"
        assert "RuntimeError: fails: broken on purpose (" in session.shown()
        # Lower than the view, narrower by half, and large again: no line of an old view is left.
        for columns, rows in ((100, 24), (80, 6), (45, 6), (45, 24), (120, 40)):
            session.resize(columns, rows)
            session.wait_for(
                f"one view at {columns}x{rows}",
                lambda: len(session.lines_with("Nodes  ")) == len(session.lines_with("Pods   ")) == 1,
            )
        assert session.end() == 0
        assert session.text()[-2:] == ["last: open end", "Stopping."]
        assert_clean(session)


def assert_clean(session: UpSession) -> None:
    """The terminal as a shell wants it: no view, an empty line to write on, cursor and echo there."""
    for part in ("Nodes  ", "Pods   "):
        assert session.lines_with(part) == [], session.shown()
    emulator = session.emulator
    assert (emulator.cursor.x, emulator.cursor.hidden) == (0, False)
    assert session.screen()[emulator.cursor.y :] == [""] * (emulator.lines - emulator.cursor.y)
    assert session.echoes()


STOPS = """
from moorage import FilterPlugin


class Stops(FilterPlugin):
    def filter(self, cycle, pod, node):
        answer = 6 * 7
        breakpoint()
        print(f"{pod.name}: after it")
        return None
"""


def test_a_debugger_has_the_terminal_for_itself(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "stops.py", STOPS)
    with UpSession(tmp_path, "--nodes=1", f"--plugin={plugin}") as session:
        session.wait_ready()
        session.wait_for_row("Nodes  1")
        assert not session.echoes(), "what is typed into the view would tear it"
        Api(session).create([pod("p", namespace="default")])
        session.wait_for_row(r"\(Pdb\)")
        assert session.lines_with("Nodes  ") == [], "the view has stepped aside"
        assert session.screen()[session.emulator.cursor.y] == "(Pdb)"
        session.type("pp [answer]\n")
        session.wait_for_row(r"\[42\]")
        session.wait_for("the next prompt", lambda: session.screen()[session.emulator.cursor.y] == "(Pdb)")
        assert session.lines_with("(Pdb) pp [answer]") == ["(Pdb) pp [answer]"]
        session.type("c\n")
        session.wait_for_text("p: after it")
        session.wait_for_row("Nodes  1")
        session.wait_for_row(r"\d\d:\d\d:\d\d  default/p +Scheduled")
        assert not session.echoes()
        assert session.end() == 0, "Ctrl-C is the cluster's again"
        assert_clean(session)


def test_a_terminal_that_takes_nothing_does_not_stop_scheduling(tmp_path: Path) -> None:
    talks = NOISY.replace("range(30)", "range(1500)")
    plugin = write_plugin(tmp_path / "noisy.py", talks)
    with UpSession(tmp_path, "--nodes=1", f"--plugin={plugin}") as session:
        session.wait_ready()
        session.wait_for_row("Nodes  1")
        api = Api(session)
        with session.stopped():
            api.create([pod(name, namespace="default") for name in ("one", "two")])
            wait_for("their nodes", lambda: len(api.bound()) == 2)
        session.wait_for_row(r"\d\d:\d\d:\d\d  default/(one|two) +Scheduled")
        session.wait_for_row("Pods   2")
        text = session.text()
        for name in ("one", "two"):
            many = [line for line in text if line.startswith(f"{name}: many")]
            assert many == [f"{name}: many {number}." for number in range(1500)]
        assert len(session.lines_with("Nodes  ")) == 1


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_log_lines_with_v_and_without_colours(tmp_path: Path, term: str) -> None:
    plugin = write_plugin(tmp_path / "noisy.py", NOISY)
    log = tmp_path / "up.log"
    log.write_text("from before\n")
    flags = ("--nodes=1", f"--plugin={plugin}", "-v=2", f"--log-file={log}")
    with UpSession(tmp_path, *flags, NO_COLOR="1", TERM=term) as session:
        session.wait_ready()
        Api(session).create([pod("p", namespace="default")])
        session.wait_for_text('"Successfully bound pod to node" pod="default/p"')
        if term == "dumb":
            session.wait_for_text(
                "default-scheduler: default/p: Scheduled: Successfully assigned default/p to"
            )
        else:
            session.wait_for_row(r"\d\d:\d\d:\d\d  default/p +Scheduled")
        assert session.end(signal.SIGTERM) == 0
        assert_clean(session)
        received = session.received.replace(b"\x1b[31mred\x1b[0m", b"").replace(b"\x1b[0m\r\n", b"\r\n")
        assert not re.search(rb"\x1b\[[0-9;]*m", received), "but for the plugin's own"
        assert (b"\x1b" in received) == (term != "dumb")
    written = log.read_text().splitlines()
    assert written[0] == "from before"
    assert written[-1] == "Stopping."
    for line in (each.format("p") for each in ONCE if "control" not in each):
        assert written.count(line) == 1
    for part in ('"log line" pod="default/p"', "p: Scheduled: Successfully assigned", "p: a warning"):
        assert len([line for line in written if part in line]) == 1


SLOW = """
import pathlib
import time

print("loading")
while not pathlib.Path("go").exists():
    time.sleep(0.05)
raise ImportError("what it needs is missing")
"""


def test_a_start_that_takes_long_says_what_it_does_and_an_error_leaves_a_clean_terminal(
    tmp_path: Path,
) -> None:
    plugin = write_plugin(tmp_path / "slow.py", SLOW)
    with UpSession(tmp_path, f"--plugin={plugin}") as session:
        session.wait_for_text("Loading the configuration and the plugins ...")
        (tmp_path / "go").touch()
        assert session.exit_code() == 1
        assert_clean(session)
        *others, last = session.text()
        assert sorted(others) == ["Loading the configuration and the plugins ...", "loading"]
        assert "what it needs is missing" in last
