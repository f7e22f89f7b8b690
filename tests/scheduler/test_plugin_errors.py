"""What everybody gets to see of an exception in a plugin, wherever it is raised."""

from __future__ import annotations

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.client.errors import Forbidden
from moorage.framework.loading.registry import find_plugins
from moorage.framework.logger import set_verbosity
from moorage.process.logs import TextFormatter
from moorage.testing import make_node
from tests.scheduler.worlds import World

RAISES = 'return {}["zone"]  # here'
SAID = "KeyError: 'zone'"

FILE = """
from moorage import *
from moorage.testing import make_pod

NO = Status.unschedulable("no")


class Boom({bases}):
    {body}
"""

CASES = {
    "pre_enqueue": ("PreEnqueuePlugin", "def pre_enqueue(self, pod): @"),
    "sort_key": ("QueueSortPlugin", "def sort_key(self, queued): @"),
    "pre_filter": ("PreFilterPlugin", "def pre_filter(self, cycle, pod): @"),
    **{
        f"{what}_pod": (
            "PreFilterPlugin, FilterPlugin",
            "def pre_filter(self, cycle, pod): pass\n"
            "    def filter(self, cycle, pod, node):\n"
            "        other = make_pod('other')\n"
            "        with self.handle.what_if(cycle, pod, node) as tried:\n"
            "            tried.add(other)\n"
            "            tried.remove(other)\n"
            "            return tried.failed\n"
            f"    def {what}_pod(self, cycle, pod, other, node): @",
        )
        for what in ("add", "remove")
    },
    "filter": ("FilterPlugin", "def filter(self, cycle, pod, node): @"),
    "filter_nodes": ("FilterPlugin", "def filter_nodes(self, cycle, pod, nodes): @"),
    "post_filter": (
        "FilterPlugin, PostFilterPlugin",
        "def filter(self, cycle, pod, node): return NO\n    def post_filter(self, cycle, pod, statuses): @",
    ),
    "pre_score": (
        "PreScorePlugin, ScorePlugin",
        "def score(self, cycle, pod, node): return 0\n    def pre_score(self, cycle, pod, nodes): @",
    ),
    "score": ("ScorePlugin", "def score(self, cycle, pod, node): @"),
    "score_nodes": ("ScorePlugin", "def score_nodes(self, cycle, pod, nodes): @"),
    "normalize_scores": (
        "ScorePlugin",
        "def score(self, cycle, pod, node): return 0\n    def normalize_scores(self, cycle, pod, scores): @",
    ),
    "reserve": (
        "ReservePlugin",
        "def unreserve(self, cycle, pod, node_name): pass\n    def reserve(self, cycle, pod, node_name): @",
    ),
    "unreserve": (
        "ReservePlugin, PermitPlugin",
        "def reserve(self, cycle, pod, node_name): pass\n"
        "    def permit(self, cycle, pod, node_name): return NO\n"
        "    def unreserve(self, cycle, pod, node_name): @",
    ),
    "permit": ("PermitPlugin", "def permit(self, cycle, pod, node_name): @"),
    "pre_bind_pre_flight": (
        "PreBindPlugin",
        "def pre_bind(self, cycle, pod, node_name): pass\n"
        "    def pre_bind_pre_flight(self, cycle, pod, node_name): @",
    ),
    "pre_bind": ("PreBindPlugin", "def pre_bind(self, cycle, pod, node_name): @"),
    "async pre_bind": ("PreBindPlugin", "async def pre_bind(self, cycle, pod, node_name): @"),
    "bind": ("BindPlugin", "def bind(self, cycle, pod, node_name): @"),
    "async bind": ("BindPlugin", "async def bind(self, cycle, pod, node_name): @"),
    "post_bind": ("PostBindPlugin", "def post_bind(self, cycle, pod, node_name): @"),
    "async post_bind": ("PostBindPlugin", "async def post_bind(self, cycle, pod, node_name): @"),
}
UNTOLD = {"unreserve", "post_bind", "async post_bind"}
"""What fails at these points keeps no pod from its node, or is not why it has none."""


@pytest.fixture
def shown() -> Iterator[io.StringIO]:
    """The log as a terminal has it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter())
    logging.getLogger().addHandler(handler)
    try:
        yield stream
    finally:
        logging.getLogger().removeHandler(handler)
        set_verbosity(0)


def world_with(folder: Path, bases: str, body: str) -> tuple[World, int]:
    """A scheduler with the plugin of a file, and the number of its line that raises."""
    text = FILE.format(bases=bases, body=body.replace("@", f"\n        {RAISES}"))
    file = folder / "plugin.py"
    file.write_text(text)
    [(made, _)] = find_plugins(str(file))
    in_tree = [
        name
        for name, point in (("PrioritySort", "QueueSort"), ("DefaultBinder", "Bind"))
        if f"{point}Plugin" not in bases.split(", ")
    ]
    world = World(made, nodes=2, in_tree=in_tree)
    line = next((n for n, line in enumerate(text.splitlines(), 1) if RAISES in line), 0)
    return world, line


@pytest.mark.parametrize("where", CASES)
@pytest.mark.parametrize("verbosity", [0, 1])
def test_the_pod_has_type_and_text_and_the_log_the_line(
    where: str, verbosity: int, tmp_path: Path, shown: io.StringIO
) -> None:
    world, line = world_with(tmp_path, *CASES[where])
    set_verbosity(verbosity)
    for name in ("one", "two"):
        world.add(name)
        world.schedule()
    place = f"(plugin.py:{line})"
    log = shown.getvalue()
    for name in ("one", "two"):
        notes = [event.note for event in world.recorder.events if event.regarding.name == name]
        assert any(SAID in note for note in notes) == (where not in UNTOLD)
        assert not any("plugin.py" in note for note in notes)
        failures = [each for each in log.splitlines() if f"default/{name}" in each and SAID in each]
        assert any(place in each and "Boom" in each for each in failures if "raised an exc" not in each)
    tracebacks = re.findall(r'"Plugin Boom raised an exception at \w+" (.*) stacktrace=<', log)
    assert len(tracebacks) >= 2 if verbosity else len(tracebacks) == 1
    assert tracebacks[0].startswith(f'err="{SAID} {place}" plugin="Boom" extensionPoint=')
    assert 'pod="default/one"' in tracebacks[0]
    assert f'File "{tmp_path}/plugin.py", line {line}' in log
    assert "runtime/calls.py" not in log


def test_a_hint_that_raises(tmp_path: Path, shown: io.StringIO) -> None:
    body = (
        "def filter(self, cycle, pod, node): return NO\n"
        '    def events(self): return [ClusterEvent("Node", Action.ADD, self.hint)]\n'
        "    def hint(self, pod, old, new): @"
    )
    world, line = world_with(tmp_path, "FilterPlugin", body)
    for name in ("one", "two"):
        world.add(name)
        world.schedule()
    world.door.put(make_node("new"))
    log = shown.getvalue()
    assert log.count("stacktrace=<") == 1
    for name in ("one", "two"):
        assert (
            f"the hint of plugin Boom for NodeAdd failed for pod default/{name}: {SAID} (plugin.py:{line})"
            in log
        )


def test_a_wrong_answer_has_the_line_of_the_method_and_no_traceback(
    tmp_path: Path, shown: io.StringIO
) -> None:
    world, _ = world_with(tmp_path, "ScorePlugin", "def score(self, cycle, pod, node): return 0.5")
    world.add()
    world.schedule()
    text = "score returned float 0.5 for node n0, use a whole number"
    assert (world.condition() or "")[-1] == f'running Score plugins: plugin "Boom" failed with: {text}'
    assert f"{text} (plugin.py:9)" in shown.getvalue()
    assert "stacktrace" not in shown.getvalue()


def test_what_a_plugin_gives_as_the_cause_is_told_alike(tmp_path: Path, shown: io.StringIO) -> None:
    body = (
        "def filter(self, cycle, pod, node):\n"
        "        try:\n"
        '            {}["zone"]\n'
        "        except KeyError as error:\n"
        "            return Status.error(cause=error)\n"
    )
    world, _ = world_with(tmp_path, "FilterPlugin", body)
    world.add()
    world.schedule()
    assert (world.condition() or "")[-1] == f'running "Boom" filter plugin: {SAID}'
    assert f"{SAID} (plugin.py:11)" in shown.getvalue()


@pytest.mark.parametrize(
    "error", [Forbidden(403, "Forbidden", "no\nright"), Forbidden(403, "Forbidden", "no right")]
)
def test_what_the_api_server_says_to_an_in_tree_plugin_stays_as_it_is(
    error: Exception, shown: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()

    def refuse(*about: Any) -> None:
        raise error

    monkeypatch.setattr(world.client, "bind", refuse)
    world.add()
    world.schedule()
    assert world.condition() == ("False", "SchedulerError", f'running Bind plugin "DefaultBinder": {error}')
    assert "stacktrace" not in shown.getvalue()
    assert ".py:" not in shown.getvalue().partition("]")[2]
