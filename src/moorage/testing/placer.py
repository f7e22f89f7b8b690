"""`Placer`: thousands of pods through the real scheduler, for comparing policies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration, load
from moorage.framework.extension_points import Plugin
from moorage.testing.plugins_under_test import Plugins, configured
from moorage.what_if.simulation import Simulation


class Placer:
    """Places pods one after the other on nodes in memory, at full speed.

        with Placer(Cheapest, [make_node("a"), make_node("b")]) as placer:
            nodes = [placer.place(pod) for pod in pods]

    Queue, cycles and plugins are the real ones. Nothing but the node is kept of a decision; to look into one
    use `run` or `Cycles`. A pod that fits nowhere is given up. `config` is a KubeSchedulerConfiguration as a
    file would say it, with the plugins' args; without it, the default plugins and `plugin` decide. A plugin
    that fails raises RuntimeError.
    """

    def __init__(
        self,
        plugin: Plugins,
        nodes: Iterable[Node],
        *,
        args: Any = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        given: KubeSchedulerConfiguration | None = None
        if config is not None:
            given = load(json.dumps(config)).config
        registry, configuration = configured(plugin, args, given)
        self._simulation = Simulation(configuration, registry)
        self._loop = asyncio.new_event_loop()
        for node in nodes:
            self._simulation.add(node)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._simulation.scheduler.close()
        self._loop.close()

    @property
    def plugins(self) -> dict[str, Plugin]:
        """The plugin objects by name, of the first profile."""
        return next(iter(self._simulation.scheduler.profiles.values())).plugins

    def place(self, pod: Pod) -> str:
        """The node that the pod got, or an empty text if it fits nowhere."""
        result = self._loop.run_until_complete(self._simulation.run([pod]))
        if pod.key in result.errors:
            raise RuntimeError(f"pod {pod.key}: {result.pending[pod.key]}")
        if pod.key in result.pending:
            self._simulation.client.delete_pod(pod)
        return result.placed.get(pod.key, "")
