"""What /metrics tells of requests, watches and objects."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.cluster.api_worlds import CONFIG_MAPS, World, config_map, living

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(world: World) -> Samples:
    text = world.ask("GET", "/metrics").document
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    """The sum of the samples that have these labels."""
    return sum(
        number for (called, its), number in found.items() if called == name and labels.items() <= set(its)
    )


def total(found: Samples, verb: str, code: int, **labels: str) -> float:
    return value(found, "apiserver_request_total", verb=verb, code=str(code), **labels)


def test_requests_are_counted_by_what_they_are() -> None:
    world = World().prepared()
    world.create(CONFIG_MAPS, config_map("one"))
    world.create(CONFIG_MAPS, config_map("two"), dryRun="All")
    world.ask("GET", f"{CONFIG_MAPS}/nothing")
    world.get(CONFIG_MAPS)
    world.get("/api/v1/configmaps")
    applied = {"apiVersion": "v1", "kind": "ConfigMap"}
    apply = "application/apply-patch+yaml"
    world.done("PATCH", f"{CONFIG_MAPS}/one", applied, content_type=apply, fieldManager="me")
    world.ask("GET", "/api/v1/namespaces/default/pods/one/nonsense")
    world.ask("GET", "/nonsense")
    world.ask("BREW", f"{CONFIG_MAPS}/one")
    found = samples(world)
    maps = {"group": "", "version": "v1", "resource": "configmaps", "component": "apiserver"}
    assert total(found, "POST", 201, **maps, scope="resource", dry_run="") == 1
    assert total(found, "POST", 201, **maps, scope="resource", dry_run="All") == 1
    assert total(found, "GET", 404, **maps, scope="resource") == 1
    assert total(found, "LIST", 200, **maps, scope="namespace") == 1
    assert total(found, "LIST", 200, **maps, scope="cluster") == 1
    assert total(found, "APPLY", 200, **maps, scope="resource") == 1
    assert total(found, "OTHER", 405, **maps) == 1
    assert value(found, "apiserver_request_total") == 7  # what is not there has no line of its own
    durations = value(found, "apiserver_request_duration_seconds_count")
    assert durations == value(found, "apiserver_request_duration_seconds_bucket", le="+Inf") == 7
    assert value(found, "apiserver_request_duration_seconds_sum") > 0


def test_objects_and_watches(tmp_path: Path) -> None:
    import asyncio

    async def main() -> None:
        async with living(tmp_path) as world:
            world.create(CONFIG_MAPS, config_map("one"))
            watches = [world.watch(path) for path in (CONFIG_MAPS, CONFIG_MAPS, "/apis/apps/v1/deployments")]
            found = samples(world)
            maps = {"verb": "WATCH", "resource": "configmaps", "version": "v1", "scope": "namespace"}
            assert value(found, "apiserver_longrunning_requests", **maps) == 2
            apps = {"verb": "WATCH", "resource": "deployments", "group": "apps", "scope": "cluster"}
            assert value(found, "apiserver_longrunning_requests", **apps) == 1
            assert total(found, "WATCH", 200) == 3
            assert value(found, "apiserver_request_duration_seconds_count", verb="WATCH") == 0
            count = world.store.count("configmaps")
            assert value(found, "apiserver_resource_objects", group="", resource="configmaps") == count
            assert value(found, "apiserver_storage_objects", resource="configmaps") == count
            assert value(found, "apiserver_storage_objects", resource="deployments.apps") == 0
            for watch in watches:
                await watch.close()
            assert value(samples(world), "apiserver_longrunning_requests") == 0

    asyncio.run(main())
