"""`moorage up` in a pseudo-terminal: what is on the screen and above it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import pod, write_plugin
from tests.cli.terminal.sessions import UpSession
from tests.controlplane.schedulers import Api

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
        assert 'fails: broken on purpose" pod="default/fails"' in session.shown()
        # Lower than the view, narrower, and large again: no line of an old view is left.
        for columns, rows in ((80, 6), (45, 6), (45, 24), (120, 40)):
            session.resize(columns, rows)
            assert len(session.lines_with("Nodes  ")) == 1, f"{columns}x{rows}\n{session.shown()}"
            assert len(session.lines_with("Pods   ")) == 1, f"{columns}x{rows}\n{session.shown()}"
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
