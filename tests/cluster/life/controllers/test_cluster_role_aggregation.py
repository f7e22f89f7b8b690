from __future__ import annotations

import asyncio

from moorage.cluster.access.rules import CLUSTER_ROLES
from moorage.cluster.base.store import Document
from tests.cluster.life.controllers.worlds import World, in_world

PARTS = {"clusterRoleSelectors": [{"matchLabels": {"part-of": "whole"}}]}


def rule(verb: str) -> Document:
    return {"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}


def test_an_aggregated_role_shows_the_rules_of_its_parts() -> None:
    async def test(world: World) -> None:
        def rules() -> list[Document]:
            found: list[Document] = world.writer.document(CLUSTER_ROLES, "", "whole").get("rules") or []
            return found

        world.writer.create(CLUSTER_ROLES, {"metadata": {"name": "whole"}, "aggregationRule": PARTS})
        labels = {"part-of": "whole"}
        world.writer.create(
            CLUSTER_ROLES, {"metadata": {"name": "part", "labels": labels}, "rules": [rule("get")]}
        )
        world.writer.create(CLUSTER_ROLES, {"metadata": {"name": "other"}, "rules": [rule("list")]})
        await asyncio.sleep(1)
        assert rules() == [rule("get")]
        world.writer.edit(CLUSTER_ROLES, "", "part", lambda each: each.update(rules=[rule("watch")]))
        await asyncio.sleep(1)
        assert rules() == [rule("watch")]
        world.writer.end(CLUSTER_ROLES, "", "part")
        await asyncio.sleep(1)
        assert rules() == []

    in_world(test)
