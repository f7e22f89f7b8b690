"""What ElasticQuotas say while pods come and go, in fake time."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests import fake_time
from tests.cluster.api_worlds import PODS
from tests.contrib.worlds import QUOTAS, quota, scheduled

CPU = {"cpu": "2"}


def test_the_use_follows_the_pods(tmp_path: Path) -> None:
    seen = []

    async def main() -> None:
        async with scheduled(tmp_path, "CapacityScheduling") as scene:

            async def note() -> None:
                await scene.settle()
                seen.append(scene.used("quota"))

            scene.create_pod("before", cpu="500m")
            await scene.settle()
            scene.world.create(QUOTAS, quota("quota", min=CPU, max={"memory": "1Gi"}))
            await note()
            scene.create_pod("a", cpu="1")
            scene.create_pod("b", cpu="1")
            scene.create_pod("nowhere", cpu="100")
            await note()
            scene.end_pods("Succeeded", "a")
            await note()
            scene.delete_pod("b")
            await note()
            scene.patch(f"{QUOTAS}/quota", {"spec": {"max": {"memory": None, "pods": 5}}})
            await note()

    fake_time.run(main())
    assert seen == [
        {"cpu": "500m", "memory": "0"},
        {"cpu": "2500m", "memory": "0"},
        {"cpu": "1500m", "memory": "0"},
        {"cpu": "500m", "memory": "0"},
        {"cpu": "500m", "pods": "1"},
    ]


def test_the_event_names_the_quota(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "CapacityScheduling") as scene:
            scene.world.create(QUOTAS, quota("quota", min=CPU))
            scene.create_pod("a", cpu="1")
            await scene.settle()
            event = scene.events("Synced")[0]
            assert event["note"] == "Elastic Quota default/quota synced successfully"
            assert (event["type"], event["reportingController"]) == ("Normal", "ElasticQuotaController")
            assert event["regarding"]["kind"] == "ElasticQuota"

    fake_time.run(main())


def test_of_several_quotas_the_oldest_counts(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "CapacityScheduling") as scene:
            scene.world.create(QUOTAS, quota("old", min=CPU))
            await asyncio.sleep(2)
            scene.world.create(QUOTAS, quota("a-young-one", min=CPU))
            scene.create_pod("a", cpu="1")
            await scene.settle()
            assert (scene.used("old"), scene.used("a-young-one")) == ({"cpu": "1"}, None)
            scene.world.done("DELETE", f"{QUOTAS}/old")
            await scene.settle()
            assert scene.used("a-young-one") == {"cpu": "1"}

    fake_time.run(main())


def test_nothing_is_written_without_a_change(tmp_path: Path) -> None:
    async def main() -> None:
        async with scheduled(tmp_path, "CapacityScheduling") as scene:
            scene.world.create(QUOTAS, quota("quota", min={"memory": "1Gi"}))
            scene.create_pod("a", cpu="1")
            await scene.settle()
            before = scene.version(f"{QUOTAS}/quota")
            scene.patch(f"{PODS}/a", {"metadata": {"annotations": {"some": "thing"}}})
            scene.create_pod("nowhere", cpu="100")
            await asyncio.sleep(30)
            assert scene.version(f"{QUOTAS}/quota") == before

    fake_time.run(main())
