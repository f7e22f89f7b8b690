"""What is said at the start about things that are not served."""

from __future__ import annotations

import logging

import pytest

from moorage.config import load
from moorage.config.feature_gates import FeatureGates
from moorage.plugins.catalog import in_tree_registry
from moorage.process.unserved import warn_of_unserved
from moorage.process.watched import add_waited_for
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod

CLAIMS = [{"name": "gpu", "resourceClaimName": "mine"}]


def make_scheduler(gates: str = "") -> Scheduler:
    config = load(DEFAULT_CONFIGURATION).config
    scheduler = Scheduler(config, in_tree_registry(), gates=FeatureGates(gates))
    add_waited_for(scheduler.door.listers, scheduler.profiles.values())
    scheduler.door.put(make_node("n"))
    return scheduler


def test_nothing_is_said_of_what_is_served(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = make_scheduler()
    scheduler.door.put(make_pod("waiting", requests={"example.com/gpu": 1}))
    scheduler.door.put(make_pod("claiming", resourceClaims=CLAIMS))
    warn_of_unserved(scheduler)
    assert caplog.messages == []


def test_nothing_is_said_of_groups_where_they_are_scheduled(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = make_scheduler("GenericWorkload=true")
    scheduler.door.put(make_pod("grouped", schedulingGroup={"podGroupName": "g"}))
    warn_of_unserved(scheduler)
    assert caplog.messages == []


def test_one_warning_for_each_kind_of_thing(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = make_scheduler()
    scheduler.door.put(make_pod("grouped", schedulingGroup={"podGroupName": "g"}))
    scheduler.door.put(make_pod("another", schedulingGroup={"podGroupName": "g"}))
    warn_of_unserved(scheduler)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert caplog.messages == [
        "Waiting pods of pod groups: 2 (first: default/another). "
        "Each is scheduled by itself: groups are scheduled with --feature-gates=GenericWorkload=true",
    ]
