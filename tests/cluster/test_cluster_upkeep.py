"""What a cluster does every minute: it ends old events and brings back what it always has."""

from __future__ import annotations

import pytest

from tests.cluster.api_worlds import World

EVENTS = "/api/v1/namespaces/default/events"
SERVICE = "/api/v1/namespaces/default/services/kubernetes"
HOUR = 3600.0


@pytest.fixture
def world() -> World:
    return World().prepared()


def test_events_are_kept_for_an_hour_however_old_what_they_tell(world: World) -> None:
    told = {"apiVersion": "v1", "kind": "Pod", "name": "p", "namespace": "default"}
    event = {"metadata": {"name": "e"}, "involvedObject": told, "lastTimestamp": "2020-01-01T00:00:00Z"}
    world.create(EVENTS, event)
    world.now += HOUR - 1
    world.cluster.sweep()
    assert world.ask("GET", EVENTS).names == ["e"]
    world.now += 2
    world.cluster.sweep()
    assert world.ask("GET", EVENTS).names == []


def test_the_service_of_the_api_server_comes_back(world: World) -> None:
    spec = world.get(SERVICE)["spec"]
    world.done("DELETE", SERVICE)
    world.cluster.sweep()
    assert world.get(SERVICE)["spec"] == spec


def test_an_address_that_somebody_else_has_is_left_to_him(world: World) -> None:
    address = world.get(SERVICE)["spec"]["clusterIP"]
    world.done("DELETE", SERVICE)
    other = {"metadata": {"name": "other"}, "spec": {"clusterIP": address, "ports": [{"port": 1}]}}
    world.create("/api/v1/namespaces/default/services", other)
    world.cluster.sweep()
    assert world.ask("GET", SERVICE).code == 404
