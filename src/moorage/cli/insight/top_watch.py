"""Watching a scheduler: a thread asks it each second, another paints, and this one listens for keys."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import sys
import termios
import threading
import time
import tty
from collections.abc import Iterator

import click

from moorage.cli import interrupts
from moorage.cli.insight.options import Whom
from moorage.cli.insight.scheduler_api import SchedulerApi, find
from moorage.cli.insight.top_picture import Seen, picture, plugin_times, usage_of
from moorage.cli.setup import BadInput
from moorage.cli.terminal.output import Output
from moorage.cli.terminal.screen import Size

PERIOD_SECONDS = 1.0
ANSWER_SECONDS = 5.0
KEY_SECONDS = 0.2
_ALL_ROWS = 1000


def watch(asked: Whom) -> None:
    """Shows a scheduler until it is told to end; once, where there is no terminal to keep current."""
    reader = Reader(asked)
    try:
        reader.read()
    except BaseException:
        reader.close()
        raise
    with Output() as output:
        if not output.has_frames:
            reader.close()
            columns = shutil.get_terminal_size((100, 0)).columns + 1
            for line in picture(reader.seen, Size(columns, _ALL_ROWS), colours=False)[1:]:
                click.echo(line)
            return
        interrupts.raise_again()
        signal.signal(signal.SIGTERM, _end)  # the terminal is to be left as it was
        reading = threading.Thread(target=reader.go_on, name="scheduler", daemon=True)
        reading.start()
        colours = output.has_colours
        output.show(lambda size: picture(reader.seen, size, colours=colours))
        try:
            with _key_by_key():
                _wait_for_q()
        finally:
            reader.stop()
            output.show(None)
            reading.join(KEY_SECONDS)


class Reader:
    """Asks a scheduler again and again. `seen` is replaced as a whole: any thread may look at it."""

    def __init__(self, asked: Whom) -> None:
        self._asked = asked
        self._api: SchedulerApi | None = None
        self._plugins: tuple[float, dict[str, object]] | None = None
        self._stopping = threading.Event()
        self.seen = Seen({})

    def read(self) -> None:
        """Asks once; raises BadInput if there is no answer."""
        if self._api is None:
            self._api = SchedulerApi(find(self._asked), seconds=ANSWER_SECONDS)
            self._api.__enter__()
        summary = self._api.get("/summary")
        plugins, nodes = self._api.get("/plugins"), self._api.get("/nodes")
        now = time.monotonic()
        rates = self.seen.rates.copy()
        rates.append(summary["rates"]["boundPerSecond"])
        then, before = self._plugins if self._plugins is not None else (now, None)
        self._plugins = now, plugins
        latest = [] if before is None else plugin_times(plugins, before, now - then)
        is_busy = any(each.calls > 0 for each in latest)
        times = latest if is_busy else plugin_times(plugins, None, 0.0)
        self.seen = Seen(summary, usage_of(nodes), times, rates, per_second=is_busy)

    def go_on(self) -> None:
        """Asks each second until it is stopped. A scheduler that is gone may come back, elsewhere perhaps."""
        while not self._stopping.wait(PERIOD_SECONDS):
            try:
                self.read()
            except BadInput as error:
                self.close()
                self._plugins = None
                seen = self.seen
                since = seen.gone_since or time.time()
                self.seen = Seen(
                    seen.summary, seen.usage, seen.plugins, seen.rates, seen.per_second, since, str(error)
                )
        self.close()

    def stop(self) -> None:
        self._stopping.set()

    def close(self) -> None:
        api, self._api = self._api, None
        if api is not None:
            api.__exit__(None, None, None)


def _end(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


@contextlib.contextmanager
def _key_by_key() -> Iterator[None]:
    """Keys come without Enter, and are not shown."""
    if not sys.stdin.isatty():
        yield
        return
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(file, termios.TCSANOW, before)


def _wait_for_q() -> None:
    if not sys.stdin.isatty():
        threading.Event().wait()  # until Ctrl-C
    file = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([file], [], [], KEY_SECONDS)
        if not ready:
            continue
        keys = os.read(file, 100)
        if not keys or b"q" in keys.lower():
            return
