"""The dump on SIGUSR2."""

from __future__ import annotations

import logging

import pytest

from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.process.dump import differences, dump
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod


def make_scheduler() -> Scheduler:
    scheduler = Scheduler(load(DEFAULT_CONFIGURATION).config, in_tree_registry())
    scheduler.door.put(make_node("n"))
    scheduler.door.put(make_pod("running", node="n", cpu="1"))
    scheduler.door.put(make_pod("waiting"))
    return scheduler


def test_nodes_waiting_pods_and_a_summary_are_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    dump(make_scheduler())
    assert caplog.messages == [
        "Dump of cached node",
        "Dump of waiting pod",
        "Dump of scheduling queue",
        "Cache compared with what is watched",
    ]


def test_state_and_watch_agree_unless_something_is_wrong() -> None:
    scheduler = make_scheduler()
    assert differences(scheduler) == ([], [])
    scheduler.state.remove_pod("pod-default-running")
    scheduler.state.add_pod(make_pod("stranger", node="n"))
    scheduler.state.assume(make_pod("assumed"), "n")
    assert differences(scheduler) == (["default/running"], ["default/stranger"])
