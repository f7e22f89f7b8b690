"""All that in-tree plugins say and wait for has plain words."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import moorage.plugins
from moorage.framework.events import Action, ClusterEvent
from moorage.insight.words.amounts import age, amount, duration
from moorage.insight.words.events import waits_for, what_happens
from moorage.insight.words.reasons import ABOUT_NODES, about_nodes
from moorage.plugins.catalog import in_tree_registry
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.scenario import Scenario

PLUGINS = Path(moorage.plugins.__file__).parent


def texts() -> Iterator[str]:
    for module in PLUGINS.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_every_reason_in_the_plugins_sources_is_known() -> None:
    said = {text for text in texts() if text.startswith("node(s) ")}
    assert len(said) > 15
    assert said <= ABOUT_NODES.keys()


def test_every_event_that_plugins_wait_for_has_words() -> None:
    registry = in_tree_registry()
    profile = Scenario([], registry, default_configuration(registry, [])).profile
    labels = {event.label for plugin in profile.plugins.values() for event in plugin.events() or ()}
    assert len(labels) > 20
    for label in labels:
        said = what_happens(label)
        assert said != label
        assert not any(letter.isdigit() for letter in said), said


def test_events_of_one_kind_are_said_together() -> None:
    labels = [
        "NodeAdd",
        "AssignedPodDelete",
        "NodeUpdateNodeTaint",
        "NodeAdd",
        "foos.v1.example.comAdd",
        "Odd",
    ]
    assert waits_for(labels) == (
        "a node is added or loses a taint; a placed pod goes; a foos.v1.example.com is added; Odd"
    )
    many = ClusterEvent("Node", Action.ADD | Action.UPDATE_NODE_LABEL | Action.DELETE).label
    assert what_happens(many) == "a node is added or goes or gets other labels"


def test_numbers_agree() -> None:
    lacks = about_nodes("NodeResourcesFit", "Insufficient example.com/gpu")
    assert (lacks.of(1), lacks.of(2)) == ("lacks example.com/gpu", "lack example.com/gpu")
    assert about_nodes("", "why not").one == 'is rejected by an extender ("why not")'
    assert about_nodes("P", "").many == "are rejected by P"
    assert about_nodes("P", "node(s) didn't satisfy plugin(s) [A B]").one == "is left out by A and B"


def test_amounts() -> None:
    assert [amount("cpu", units) for units in (300, 2000, 2500)] == ["300m", "2", "2500m"]
    assert [amount("memory", units) for units in (1000, 1024, 1536, 5 << 30, (5 << 30) + 1)] == [
        *("1000", "1Ki", "1.5Ki", "5Gi"),
        "5.1Gi",
    ]
    assert amount("example.com/gpu", 4096) == "4096"
    assert [age(seconds) for seconds in (0.25, 12.9, 200, 3600, 19260, 90000, -5)] == [
        *("250 ms", "12 s", "3 min", "1 h", "5 h 21 min", "1 d 1 h"),
        "0 ms",
    ]
    assert [duration(seconds) for seconds in (3e-7, 12e-6, 0.0041, 0.12, 2)] == [
        *("<1 µs", "12 µs", "4.1 ms", "120 ms"),
        "2 s",
    ]
