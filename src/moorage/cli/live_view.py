"""What `moorage up` shows while it runs: a live picture in a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

import click

from moorage.cluster.base.store import Change, Document, Store

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

DECISIONS = 12
FEW_NODES = 10
REFRESH_SECONDS = 0.5
TOGETHER_SECONDS = 0.05
_REASONS = ("Scheduled", "FailedScheduling", "Preempted")


class View(Protocol):
    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def say(self, line: str) -> None:
        """Tells the user something that stays on the screen."""


class DecisionLine:
    """A scheduler's event, as a line."""

    def __init__(self, event: Document) -> None:
        regarding = event.get("involvedObject") or {}
        self.pod = _printable(f"{regarding.get('namespace', '')}/{regarding.get('name', '')}")
        self.reason = str(event.get("reason", ""))
        self.message = _printable(event.get("message", ""))
        self.by = _printable(
            event.get("reportingComponent") or (event.get("source") or {}).get("component", "")
        )
        self.time = time.strftime("%H:%M:%S")

    @property
    def short_message(self) -> str:
        """Without what stands beside it anyway."""
        return self.message.removeprefix(f"Successfully assigned {self.pod} ")

    def __str__(self) -> str:
        return f"{self.time} {self.by}: {self.pod}: {self.reason}: {self.message}"


def _printable(text: str) -> str:
    """Anybody may write events; nobody may move the cursor with them."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else " " for letter in text)


class _Listening:
    """Hears of the decisions of all schedulers, whoever runs them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._unlisten: Callable[[], None] = lambda: None

    def listen(self) -> None:
        self._unlisten = self._store.listen("events", self._hear)

    def unlisten(self) -> None:
        self._unlisten()

    def _hear(self, change: Change) -> None:
        event = change.new.document
        if change.type != "DELETED" and event.get("reason") in _REASONS:
            self.decided(DecisionLine(event))

    def decided(self, decision: DecisionLine) -> None:
        raise NotImplementedError


class PlainView(_Listening):
    """A line per decision; those of a moment are written together."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._lines: list[str] = []

    def __enter__(self) -> Self:
        self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unlisten()
        self._write()

    def say(self, line: str) -> None:
        self._lines.append(line)
        self._write()

    def decided(self, decision: DecisionLine) -> None:
        self._lines.append(str(decision))
        if len(self._lines) == 1:
            asyncio.get_running_loop().call_later(TOGETHER_SECONDS, self._write)

    def _write(self) -> None:
        lines, self._lines = self._lines, []
        if lines:
            click.echo("\n".join(lines))


class LiveView(_Listening):
    """Nodes, pods and the last decisions, kept current below what was said."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._decisions: deque[DecisionLine] = deque(maxlen=DECISIONS)
        self._live: Live | None = None
        self._refreshing: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        from rich.live import Live

        self.listen()
        self._live = Live(self.picture(), auto_refresh=False, transient=True)
        self._live.__enter__()
        self._refreshing = asyncio.create_task(self._refresh())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unlisten()
        if self._refreshing is not None:
            self._refreshing.cancel()
        if self._live is not None:
            self._live.__exit__(kind, error, trace)

    def say(self, line: str) -> None:
        if self._live is not None:
            self._live.console.print(line, markup=False, highlight=False)

    def decided(self, decision: DecisionLine) -> None:
        self._decisions.append(decision)

    async def _refresh(self) -> None:
        seen: tuple[int, int] | None = None
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            now = self._store.revision, int(time.monotonic() / 5)
            if now != seen and self._live is not None:
                seen = now
                self._live.update(self.picture(), refresh=True)

    def picture(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        counts = Table.grid(padding=(0, 3))
        counts.add_row(Text("Nodes", style="bold"), nodes_line(self._store))
        for name, line in node_lines(self._store):
            counts.add_row("", Text(f"{name}: {line}"))
        counts.add_row(Text("Pods", style="bold"), pods_line(self._store))
        decisions = Table.grid(padding=(0, 2))
        for _ in range(4):
            decisions.add_column(no_wrap=True, overflow="ellipsis")
        for decision in self._decisions:
            style = "green" if decision.reason == "Scheduled" else "yellow"
            decisions.add_row(
                decision.time,
                Text(decision.pod),
                Text(decision.reason, style=style),
                Text(decision.short_message),
            )
        return Group(Text(), counts, Text(), decisions)


def node_lines(store: Store) -> list[tuple[str, str]]:
    """Each node with its pods, as long as there are only a few nodes."""
    if not 0 < store.count("nodes") <= FEW_NODES:
        return []
    pods = Counter(each.document.get("spec", {}).get("nodeName", "") for each in store.iterate("pods"))
    return [(each.name, f"{pods[each.name]} pods") for each in store.objects("nodes")]


def nodes_line(store: Store) -> str:
    total = ready = closed = 0
    for stored in store.iterate("nodes"):
        total += 1
        conditions = stored.document.get("status", {}).get("conditions", [])
        ready += any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
        closed += bool(stored.document.get("spec", {}).get("unschedulable"))
    return f"{total} ({ready} ready{f', {closed} cordoned' if closed else ''})"


def pods_line(store: Store) -> str:
    phases: Counter[str] = Counter()
    for stored in store.iterate("pods"):
        document = stored.document
        phase = str(document.get("status", {}).get("phase", "Pending"))
        if phase == "Pending":
            phase = "Starting" if document.get("spec", {}).get("nodeName") else "Waiting"
        phases[phase] += 1
    shown = ", ".join(f"{count} {phase.lower()}" for phase, count in sorted(phases.items()))
    return f"{phases.total()}{f' ({shown})' if shown else ''}"
