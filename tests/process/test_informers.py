"""Waiting for the resources that plugins cannot do without."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from moorage.client.errors import NotFound
from moorage.client.http import Listing
from moorage.client.resources import Resource
from moorage.framework.handle import Handle
from moorage.framework.loading.registry import PluginLoadError
from moorage.plugins.catalog import in_tree_registry
from moorage.process.informers import Informers
from moorage.scheduler.profiles import default_configuration
from moorage.scheduler.scheduler import Scheduler
from tests import fake_time
from tests.api.licenses import License


class Server:
    """Serves every resource, but licenses only from a certain time on."""

    def __init__(self, licenses_after: float = float("inf")) -> None:
        self._licenses_after = licenses_after

    async def list(self, resource: Resource[Any], *, field_selector: str = "", **_: Any) -> Listing[Any]:
        if resource.plural == "licenses" and fake_time.now() < self._licenses_after:
            raise NotFound(404, "NotFound", "the server could not find the requested resource")
        return Listing([], "1")

    async def watch(self, resource: Resource[Any], **options: Any) -> AsyncGenerator[Any, None]:
        await asyncio.Event().wait()
        yield


def informers_of(server: Any, **demands: float | None) -> Informers:
    """Plugins by name, each of which asks for licenses with its own time-out."""
    registry = in_tree_registry()
    scheduler = Scheduler(default_configuration(registry), registry)
    for name, seconds in demands.items():
        Handle(scheduler.services, plugin_name=name).lister_of(License, sync_timeout=seconds)
    return Informers(server, scheduler.door, scheduler.profiles.values())


async def waited(informers: Informers) -> float:
    informers.start()
    try:
        await informers.wait_synced()
        return fake_time.now()
    finally:
        await informers.stop()


def test_what_is_not_served_is_not_waited_for() -> None:
    async def main() -> None:
        informers = informers_of(Server(), Easy=None)
        assert not informers.has_requirements
        assert await waited(informers) < 1
        assert informers.not_synced() == []

    fake_time.run(main())


def test_what_a_plugin_cannot_do_without_is() -> None:
    async def main() -> None:
        informers = informers_of(Server(licenses_after=10), Easy=None, Hard=30)
        assert informers.has_requirements
        assert 10 <= await waited(informers) < 30
        assert informers.not_synced() == []

    fake_time.run(main())


def test_how_long_nothing_was_heard() -> None:
    async def main() -> None:
        informers = informers_of(Server(), Hard=30)
        assert informers.silences() == {}
        informers.start()
        await asyncio.sleep(7)
        silences = informers.silences()
        assert {"pods", "nodes", "storageclasses.storage.k8s.io"} <= silences.keys()
        assert not [name for name in silences if name.startswith("licenses")]
        await informers.stop()

    fake_time.run(main())


def test_until_then_the_scheduler_is_not_ready() -> None:
    async def main() -> None:
        informers = informers_of(Server(), Hard=30)
        informers.start()
        await asyncio.sleep(5)
        assert informers.not_synced() == [
            "licenses.shop.example.com (the server could not find the requested resource)"
        ]
        assert informers.missing("licenses.shop.example.com") == "it is not served"
        await informers.stop()

    fake_time.run(main())


def test_what_is_missing_is_named_with_the_remedy_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        informers = informers_of(Server(licenses_after=150), Hard=1000)
        assert informers.required == ["licenses.shop.example.com"]
        await waited(informers)
        assert informers.missing("licenses.shop.example.com") is None

    fake_time.run(main())
    told = [record for record in caplog.records if record.levelname == "WARNING"]
    assert [record.getMessage() for record in told] == [
        "Nothing is scheduled before a custom resource is defined that a plugin cannot do without"
    ] * 3
    assert vars(told[0])["_moorage_fields"] == {
        "resource": "licenses.shop.example.com",
        "plugin": "Hard",
        "remedy": "moorage crd tests.api.licenses:License | kubectl apply -f -",
    }


def test_what_nobody_waits_for_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        await waited(informers_of(Server(), Easy=None))

    fake_time.run(main())
    [told] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert told.getMessage() == "A custom resource is not defined: plugins see no objects of it until it is"
    assert vars(told)["_moorage_fields"] == {
        "resource": "licenses.shop.example.com",
        "remedy": "moorage crd tests.api.licenses:License | kubectl apply -f -",
    }


def test_what_has_no_class_has_another_remedy(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        registry = in_tree_registry()
        scheduler = Scheduler(default_configuration(registry), registry)
        handle = Handle(scheduler.services, plugin_name="Hard")
        handle.lister("shop.example.com", "v1alpha1", "licenses", sync_timeout=30)
        server: Any = Server(licenses_after=10)
        await waited(Informers(server, scheduler.door, scheduler.profiles.values()))

    fake_time.run(main())
    [told] = [record for record in caplog.records if record.levelname == "WARNING"]
    assert vars(told)["_moorage_fields"]["remedy"] == "kubectl apply its CustomResourceDefinition"


def test_a_plugin_that_has_waited_long_enough_ends_the_start(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> float:
        informers = informers_of(Server(), Patient=30, Hasty=5)
        with pytest.raises(PluginLoadError) as caught:
            await waited(informers)
        assert str(caught.value) == 'initializing plugin "Hasty": WaitForCacheSync failed'
        return fake_time.now()

    assert fake_time.run(main()) == pytest.approx(5, abs=0.2)
    assert "Cannot sync caches" in caplog.messages
