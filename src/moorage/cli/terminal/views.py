"""What `moorage up` shows while it runs: a view in a terminal that can have one, plain lines elsewhere."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from moorage.cli.terminal.counts import Counts
from moorage.cli.terminal.output import Output
from moorage.cli.terminal.picture import DECISIONS, VERDICTS, Decision, picture
from moorage.cli.terminal.screen import Size
from moorage.cluster.base.store import Change, Store

TOGETHER_SECONDS = 0.05


def make_view(store: Store, output: Output) -> View:
    return LiveView(store, output) if output.has_frames else PlainView(store, output)


class View:
    """Hears of the decisions of all schedulers, whoever runs them, for the length of a `with` block.

    It is entered and left in the thread that the store belongs to; `say` may be called in any.
    """

    def __init__(self, store: Store, output: Output) -> None:
        self._store = store
        self._output = output
        self._unlisten: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unlisten()

    def say(self, line: str) -> None:
        """Tells the user something that stays on the screen."""
        self._output.say(line)

    def listen(self) -> None:
        self._unlisten.append(self._store.listen("events", self._hear))

    def unlisten(self) -> None:
        while self._unlisten:
            self._unlisten.pop()()

    def _hear(self, change: Change) -> None:
        event = change.new.document
        if change.type != "DELETED" and event.get("reason") in VERDICTS:
            self.decided(Decision(event))

    def decided(self, decision: Decision) -> None:
        raise NotImplementedError


class PlainView(View):
    """A line per decision; those of a moment are written together."""

    def __init__(self, store: Store, output: Output) -> None:
        super().__init__(store, output)
        self._lines: list[str] = []
        self._is_unread = False
        self._lock = threading.RLock()
        self._heard = threading.Event()
        self._ending = threading.Event()
        self._writer = threading.Thread(target=self._write_often, name="decisions", daemon=True)

    def __enter__(self) -> Self:
        self._writer.start()
        return super().__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        self._ending.set()
        self._heard.set()
        self._writer.join()
        self._output.show(None)

    def say(self, line: str) -> None:
        with self._lock:
            self._lines.append(line)
            self._write()

    def decided(self, decision: Decision) -> None:
        with self._lock:
            self._lines.append(str(decision))
        self._heard.set()

    def _write_often(self) -> None:
        while not self._ending.is_set():
            self._heard.wait()
            self._ending.wait(TOGETHER_SECONDS)
            self._heard.clear()
            with self._lock:
                self._write()

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        if lines and not self._is_unread:
            try:
                self._output.say("\n".join(lines))
            except BrokenPipeError:  # as behind `| head`
                self._is_unread = True


class LiveView(View):
    """Nodes, pods and the last decisions, kept current below what was said."""

    def __init__(self, store: Store, output: Output) -> None:
        super().__init__(store, output)
        self._counts = Counts()
        self._decisions: deque[Decision] = deque(maxlen=DECISIONS)

    def __enter__(self) -> Self:
        super().__enter__()
        self._output.show(self.picture)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._output.show(None)
        super().__exit__(kind, error, trace)

    def listen(self) -> None:
        super().listen()
        self._unlisten += self._counts.listen(self._store)

    def decided(self, decision: Decision) -> None:
        self._decisions.append(decision)
        self._output.log(str(decision))

    def picture(self, size: Size) -> list[str]:
        decisions = list(self._decisions)
        return picture(self._counts.snapshot(), decisions, size, colours=self._output.has_colours)
