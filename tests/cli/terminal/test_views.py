from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moorage.cli.terminal.output import Output
from moorage.cli.terminal.screen import Size
from moorage.cli.terminal.views import LiveView, PlainView, View
from moorage.client.loops import LoopThread
from moorage.cluster.base.store import Change, Document, Store, Stored
from tests.controlplane.servers import wait_for


def node(name: str, *, ready: bool = True, **spec: Any) -> Document:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    return {"metadata": {"name": name}, "spec": spec, "status": {"conditions": conditions}}


def pod(name: str, phase: str, node: str = "") -> Document:
    spec = {"nodeName": node} if node else {}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": {"phase": phase}}


def event(reason: str, message: str, name: str = "p") -> Document:
    return {
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "namespace": "default", "name": name},
        "reason": reason,
        "message": message,
        "reportingComponent": "default-scheduler",
    }


@pytest.fixture
def store() -> Store:
    store = Store()
    for each in (node("a"), node("b", ready=False), node("c", unschedulable=True)):
        store.create("nodes", "", each["metadata"]["name"], each)
    for each in (
        pod("w", "Pending"),
        pod("s", "Pending", "a"),
        pod("r", "Running", "a"),
        pod("f", "Failed", "c"),
    ):
        store.create("pods", "default", each["metadata"]["name"], each)
    return store


def shown(view: LiveView, columns: int = 100, rows: int = 40) -> str:
    return "\n".join(view.picture(Size(columns, rows)))


def listening(store: Store) -> LiveView:
    view = LiveView(store, Output())
    view.listen()
    return view


def test_the_picture_counts_nodes_and_pods(store: Store) -> None:
    view = listening(store)
    text = shown(view)
    assert "Nodes  3 (2 ready, 1 cordoned)" in text
    assert "Pods   4 (1 failed, 1 running, 1 starting, 1 waiting)" in text
    assert "a: 2 pods   b: 0 pods   c: 1 pod" in text
    assert "Nodes  0 (0 ready)\nPods   0" in shown(listening(Store()))


def test_counts_follow_what_changes(store: Store) -> None:
    view = listening(store)
    waiting = store.get("pods", "default", "w")
    assert waiting is not None
    store.update("pods", waiting, pod("w", "Running", "b"))
    failed = store.get("pods", "default", "f")
    assert failed is not None
    store.delete("pods", failed)
    cordoned = store.get("nodes", "", "c")
    assert cordoned is not None
    store.update("nodes", cordoned, node("c"))
    text = shown(view)
    assert "Nodes  3 (3 ready" not in text
    assert "Nodes  3 (2 ready)" in text
    assert "Pods   3 (2 running, 1 starting)" in text
    assert "a: 2 pods   b: 1 pod    c: 0 pods" in text
    view.unlisten()
    store.create("pods", "default", "late", pod("late", "Pending"))
    assert shown(view) == text


def test_many_nodes_are_only_counted() -> None:
    store = Store()
    for number in range(11):
        store.create("nodes", "", f"n{number}", node(f"n{number}"))
    text = shown(listening(store))
    assert "11 (11 ready)" in text
    assert "n1:" not in text


def test_the_last_decisions_are_shown_whatever_stands_in_them(store: Store) -> None:
    view = listening(store)
    for number in range(20):
        message = f"Successfully assigned default/p{number} to node-{number}"
        store.create("events", "default", f"e{number}", event("Scheduled", message, f"p{number}"))
    store.create("events", "default", "odd", event("FailedScheduling", "\x1b[2J[/red] 0/3 nodes", "[bold"))
    store.create("events", "default", "other", event("Pulled", "an image"))
    view.unlisten()
    store.create("events", "default", "late", event("Preempted", "too late"))
    text = shown(view)
    assert "default/p9 " in text
    assert "default/p8 " not in text, "only the last ones"
    assert re.search("default/p19 +Scheduled  node-19\n", text)
    assert re.search(r"default/\[bold +Failed     \\x1b\[2J\[/red\] 0/3 nodes", text)
    assert "\x1b" not in text
    assert "an image" not in text
    assert "too late" not in text


def test_plain_lines(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def decide(name: str) -> None:
        message = f"Successfully assigned default/p to {name}\x1b[2J"
        store.create("events", "default", name, event("Scheduled", message))

    lines: list[str] = []

    def two_lines() -> bool:
        lines.extend(capsys.readouterr().out.splitlines())
        return len(lines) == 2

    with PlainView(store, Output()) as view:
        view.say("hello")
        decide("a")
        wait_for("the line of a decision", two_lines)
        decide("b")
        view.say("after b")
        decide("c")
    decide("d")
    b, after_b, c = capsys.readouterr().out.splitlines()
    assert b.endswith(
        " default-scheduler: default/p: Scheduled: Successfully assigned default/p to b\\x1b[2J"
    )
    assert after_b == "after b"
    assert c.endswith(" to c\\x1b[2J")


@pytest.mark.parametrize("kind", [LiveView, PlainView])
def test_the_store_is_only_touched_in_its_own_thread(kind: type[View]) -> None:
    owner = LoopThread("owner")
    owner.start()
    touched: list[int] = []

    class Watched(Store):
        def listen(self, resource: str, listener: Callable[[Change], object]) -> Callable[[], None]:
            touched.append(threading.get_ident())
            return lambda: touched.append(threading.get_ident())

        def iterate(self, resource: str, namespace: str = "") -> Iterator[Stored]:
            touched.append(threading.get_ident())
            return super().iterate(resource, namespace)

    view = kind(Watched(), Output())

    async def enter() -> None:
        view.__enter__()

    async def leave() -> None:
        view.__exit__(None, None, None)

    owner.run(enter())
    view.say("here")
    if isinstance(view, LiveView):
        shown(view)
    owner.run(leave())
    owner.stop()
    assert set(touched) == {owner.ident}
