"""What is said at the start about things that are not served."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.config import load
from moorage.plugins.catalog import in_tree_registry
from moorage.process.unserved import unserved, warn_of_unserved
from moorage.process.watched import add_waited_for
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from moorage.scheduler.scheduler import Scheduler
from moorage.testing import make_node, make_pod

CLAIMS = [{"name": "gpu", "resourceClaimName": "mine"}]
WITHOUT_DEVICES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {disabled: [{name: DynamicResources}]}}
"""


def make_scheduler(config: bytes | str = DEFAULT_CONFIGURATION) -> Scheduler:
    scheduler = Scheduler(load(config).config, in_tree_registry())
    add_waited_for(scheduler.door.listers, scheduler.profiles.values())
    scheduler.door.put(make_node("n"))
    return scheduler


def put(scheduler: Scheduler, resource: str, name: str, namespace: str = "", **content: Any) -> None:
    [lister] = [lister for lister in scheduler.door.listers if lister.name.resource == resource]
    document = {"metadata": {"name": name, "namespace": namespace}, **content}
    scheduler.door.put(from_document(Object, document), lister)


def test_nothing_is_said_of_what_is_served(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = make_scheduler()
    scheduler.door.put(make_pod("waiting", requests={"example.com/gpu": 1}))
    scheduler.door.put(make_pod("running", node="n", resourceClaims=CLAIMS))
    scheduler.door.put(make_pod("of-another", scheduler="other", resourceClaims=CLAIMS))
    warn_of_unserved(scheduler)
    assert caplog.messages == []


def test_one_warning_for_each_kind_of_thing(caplog: pytest.LogCaptureFixture) -> None:
    scheduler = make_scheduler()
    for name in ("train-1", "train-0"):
        scheduler.door.put(make_pod(name, resourceClaims=CLAIMS))
    gates = [{"name": "example.com/wait"}]
    scheduler.door.put(make_pod("train-2", resourceClaims=CLAIMS, schedulingGates=gates))
    scheduler.door.put(make_pod("grouped", schedulingGroup={"podGroupName": "g"}))
    scheduler.door.put(make_pod("by-name", requests={"example.com/gpu": 1}))
    scheduler.door.put(make_pod("by-class", requests={"deviceclass.resource.kubernetes.io/gpus": 1}))
    put(scheduler, "deviceclasses", "gpus", spec={"extendedResourceName": "example.com/gpu"})
    put(scheduler, "resourceslices", "slice-1")
    put(scheduler, "resourceslices", "slice-0")
    put(scheduler, "resourceclaims", "mine", "default")
    put(scheduler, "resourceclaims", "had", "default", status={"allocation": {"devices": {}}})
    warn_of_unserved(scheduler)
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    none = "this version of Moorage does not allocate devices"
    assert caplog.messages == [
        "Waiting pods of pod groups: 1 (first: default/grouped). "
        "Each is scheduled by itself: this version of Moorage does not schedule groups",
        f"Waiting pods with resource claims: 3 (first: default/train-0). They will not be scheduled: {none}",
        "Waiting pods that request a resource of a DeviceClass: 2 (first: default/by-class). "
        f"They go only to nodes that have it as allocatable: {none}",
        f"ResourceClaims without an allocation: 1 (first: default/mine). They will not get one: {none}",
        f"ResourceSlices: 2 (first: slice-0). Their devices are not used: {none}",
        f"DeviceClasses: 1 (first: gpus). They are not used: {none}",
    ]


def test_without_the_plugin_claims_are_no_concern_of_the_scheduler() -> None:
    scheduler = make_scheduler(WITHOUT_DEVICES)
    scheduler.door.put(make_pod("train", resourceClaims=CLAIMS))
    assert unserved(scheduler) == []
