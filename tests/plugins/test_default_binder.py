from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.handle import Handle, Services
from moorage.framework.runtime.calls import settled
from moorage.plugins.default_binder import DefaultBinder
from moorage.testing import make_pod


class Client:
    """Notes what is bound; refuses pods that are called so."""

    def __init__(self, awaits: bool) -> None:
        self.awaits = awaits
        self.bound: list[tuple[str, str]] = []

    def bind(self, pod: Pod, node_name: str) -> Awaitable[None] | None:
        if self.awaits:
            return self._bind_later(pod, node_name)
        self._bind(pod, node_name)
        return None

    async def _bind_later(self, pod: Pod, node_name: str) -> None:
        await asyncio.sleep(0)
        self._bind(pod, node_name)

    def _bind(self, pod: Pod, node_name: str) -> None:
        if pod.name == "refused":
            raise RuntimeError("pods is forbidden")
        self.bound.append((pod.key, node_name))


def bind(client: Any, pod: Pod, node_name: str) -> Any:
    plugin = DefaultBinder(None, Handle(Services(client=client)))

    async def run() -> Any:
        return await settled(plugin.bind(CycleState(), pod, node_name))

    return asyncio.run(run())


@pytest.mark.parametrize("awaits", [False, True])
def test_binds_through_the_client(awaits: bool) -> None:
    client = Client(awaits)
    assert bind(client, make_pod("p"), "n") is None
    assert client.bound == [("default/p", "n")]


@pytest.mark.parametrize("awaits", [False, True])
def test_what_the_server_refuses_is_raised(awaits: bool) -> None:
    with pytest.raises(RuntimeError, match=r"^pods is forbidden$"):
        bind(Client(awaits), make_pod("refused"), "n")
