"""Judging the choices in a trace."""

from __future__ import annotations

from moorage.api.pods import Pod, on_node
from moorage.plugins.catalog import in_tree_registry
from moorage.process.judged_trace import JudgedTrace
from moorage.scheduler.profiles import default_configuration
from moorage.testing import make_node, make_pod
from moorage.what_if.trace.changes import Change, Head, Trace

BEGAN = 1000.0


def judged(*changes: Change) -> JudgedTrace:
    registry = in_tree_registry()
    nodes = [Change(BEGAN, make_node(name)) for name in ("a", "b")]
    found = JudgedTrace(
        Trace(Head(began=BEGAN), [*nodes, *changes]), default_configuration(registry, []), registry
    )
    found.run()
    return found


def bound(pod: Pod, node: str, time: float) -> list[Change]:
    return [Change(time, pod), Change(time + 0.1, on_node(pod, node))]


def test_choices_are_counted_by_what_is_thought_of_them() -> None:
    here, there = make_pod("here", cpu="3"), make_pod("there", cpu="1")
    found = judged(*bound(here, "a", BEGAN + 1), *bound(there, "a", BEGAN + 5))
    assert found.tally.counts == {"agreed": 1, "disagreed": 1}
    [told] = found.tally.remembered["disagreed"]
    assert (told.verdict.pod, told.verdict.node, told.verdict.best) == ("default/there", "a", ("b",))


def test_what_there_was_at_the_beginning_is_not_judged() -> None:
    found = judged(Change(BEGAN, make_pod("old", nodeName="a")), *bound(make_pod("new"), "b", BEGAN + 1))
    assert found.tally.counts == {"agreed": 1}


def test_what_happens_in_the_first_moment_is() -> None:
    """API servers tell whole seconds, so that it may look as if it had been before."""
    pod = make_pod("early")
    found = judged(Change(BEGAN, pod), Change(BEGAN, on_node(pod, "a")))
    assert found.tally.counts == {"agreed": 1}


def test_pods_that_are_done_or_gone_take_no_room() -> None:
    full = make_pod("full", cpu="4")
    done = make_pod("full", cpu="4", nodeName="a", status={"phase": "Succeeded"})
    other, more = make_pod("other", cpu="4"), make_pod("more", cpu="4")
    found = judged(
        *bound(full, "a", BEGAN + 1),
        Change(BEGAN + 2, done),
        *bound(other, "a", BEGAN + 3),
        Change(BEGAN + 4, on_node(other, "a"), gone=True),
        *bound(more, "a", BEGAN + 5),
    )
    assert found.tally.counts == {"agreed": 3}


def test_its_time_is_that_of_the_trace() -> None:
    found = judged(*bound(make_pod("one"), "a", BEGAN + 3600))
    assert found.tally.document()["began"] == "1970-01-01T00:16:40.000Z"
    assert found.tally.document()["seconds"] == 3600.1
