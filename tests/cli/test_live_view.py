from __future__ import annotations

import asyncio
from typing import Any

import pytest
from rich.console import Console

from moorage.cli.live_view import LiveView, PlainView
from moorage.cluster.base.store import Document, Store
from tests.fake_time import run


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


def shown(view: LiveView, width: int = 100) -> str:
    console = Console(width=width, no_color=True)
    with console.capture() as capture:
        console.print(view.picture())
    return capture.get()


def test_the_picture_counts_nodes_and_pods(store: Store) -> None:
    text = shown(LiveView(store))
    assert "3 (2 ready, 1 cordoned)" in text
    assert "4 (1 failed, 1 running, 1 starting, 1 waiting)" in text
    assert "a: 2 pods" in text
    assert "0 (0 ready)" in shown(LiveView(Store()))


def test_many_nodes_are_only_counted() -> None:
    store = Store()
    for number in range(11):
        store.create("nodes", "", f"n{number}", node(f"n{number}"))
    text = shown(LiveView(store))
    assert "11 (11 ready)" in text
    assert "n1:" not in text


def test_the_last_decisions_are_shown_whatever_stands_in_them(store: Store) -> None:
    view = LiveView(store)
    view.listen()
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
    assert " to node-19 " in text
    assert "Successfully" not in text
    assert "default/[bold" in text
    assert "[/red] 0/3 nodes" in text
    assert "\x1b[2J" not in text
    assert "an image" not in text
    assert "too late" not in text
    assert all(len(line) <= 40 for line in shown(view, width=40).splitlines())


def test_plain_lines(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    def decide(name: str) -> None:
        message = f"Successfully assigned default/p to {name}\x1b[2J"
        store.create("events", "default", name, event("Scheduled", message))

    async def scenario() -> None:
        with PlainView(store) as view:
            view.say("hello")
            decide("a")
            await asyncio.sleep(1)
            assert len(capsys.readouterr().out.splitlines()) == 2
            decide("b")
            view.say("after b")
            decide("c")
        decide("d")
        await asyncio.sleep(1)

    run(scenario())
    b, after_b, c = capsys.readouterr().out.splitlines()
    assert b.endswith(" default-scheduler: default/p: Scheduled: Successfully assigned default/p to b [2J")
    assert after_b == "after b"
    assert c.endswith(" to c [2J")


def test_the_live_view_refreshes_and_ends(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    async def scenario() -> None:
        with LiveView(store) as view:
            view.say("[red]plugin.py: reloaded")
            await asyncio.sleep(0)

    asyncio.run(scenario())
    assert "[red]plugin.py: reloaded" in capsys.readouterr().out
