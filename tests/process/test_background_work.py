"""Background work of plugins in a running scheduler: when it begins, what it sees, when it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar

from moorage import FilterPlugin, Handle, Pod, every
from moorage.plugins.catalog import in_tree_registry
from moorage.process.local_scheduler import LocalScheduler
from moorage.scheduler.profiles import default_configuration
from tests import fake_time
from tests.cli.running import node
from tests.cluster.api_worlds import living, pod


class Working(FilterPlugin):
    """Notes what happens to it, in the order in which it does."""

    notes: ClassVar[list[str]] = []

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self.notes.append("made")

    async def start(self) -> None:
        self.notes.append(f"started with {len(self.handle.nodes)} nodes")
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)
            self.notes.append("start cancelled")

    @every(600)
    def refresh(self) -> None:
        self.notes.append(f"refreshed with {len(self.handle.nodes)} nodes")

    def filter(self, cycle: Any, pod: Pod, node: Any) -> None:
        if node.name == "a":
            self.notes.append(f"asked about {pod.name}")

    def close(self) -> None:
        self.notes.append("closed")


BEGUN = ["started with 2 nodes", "refreshed with 2 nodes"]
ENDED = ["start cancelled", "closed"]


def test_it_begins_with_the_cluster_known_and_ends_with_the_scheduler(tmp_path: Path) -> None:
    registry = in_tree_registry()
    registry.add_class(Working, "here")
    config = default_configuration(registry, ["Working"])

    async def main() -> None:
        async with living(tmp_path, [node("a"), node("b")]) as world:
            await asyncio.sleep(1)  # the service account of the namespace comes
            world.create("/api/v1/namespaces/default/pods", pod("first"))
            scheduler = LocalScheduler(world.cluster.scheduler_client)
            await scheduler.start(registry, config, _no_failure)
            await asyncio.sleep(5)
            await scheduler.replace(registry, config, _no_failure)
            await asyncio.sleep(5)
            await scheduler.stop()

    Working.notes.clear()
    fake_time.run(main())
    first = ["made", *BEGUN, "asked about first", "made", *ENDED]
    assert [*first, *BEGUN, *ENDED] == Working.notes


def _no_failure(error: Exception) -> None:
    raise error
