"""Health and metrics over plain HTTP: what everybody may see, and nothing else."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest

from moorage.process.shadow_tally import Tally
from moorage.server.health import HealthChecks
from moorage.server.pages import Content
from moorage.server.plain import PlainServer

NOT_YET = "the first lists are not there"


def ask(*questions: tuple[str, str]) -> list[tuple[int, str]]:
    """The answers to methods and paths."""

    async def main() -> list[tuple[int, str]]:
        readyz = HealthChecks("readyz")
        readyz.add("synced", lambda: NOT_YET)
        server = PlainServer("127.0.0.1", 0, Content(readyz=readyz, registries=[Tally().registry]))
        await server.start()
        found = []
        try:
            async with aiohttp.ClientSession() as session:
                for method, path in questions:
                    async with session.request(method, f"http://127.0.0.1:{server.port}{path}") as answer:
                        found.append((answer.status, await answer.text()))
        finally:
            await server.stop()
        return found

    return asyncio.run(main())


def test_health_and_metrics() -> None:
    [metrics, live, ready] = ask(("GET", "/metrics"), ("GET", "/livez"), ("GET", "/readyz"))
    assert metrics[0] == 200
    assert "moorage_shadow_agreement_ratio 1\n" in metrics[1]
    assert live == (200, "ok")
    assert ready[0] == 500


@pytest.mark.parametrize(
    "path", ("/", "/configz", "/metrics/resources", "/flagz", "/statusz", "/debug/pprof/", "/insight/v1/pods")
)
def test_nothing_else(path: str) -> None:
    [(code, _)] = ask(("GET", path))
    assert code == 404


def test_nothing_can_be_changed() -> None:
    [(code, _), (after, _)] = ask(("DELETE", "/metrics"), ("GET", "/metrics"))
    assert (code, after) == (405, 200)


def test_a_port_that_is_taken() -> None:
    async def main() -> None:
        first = PlainServer("127.0.0.1", 0, Content())
        await first.start()
        try:
            with pytest.raises(OSError, match="in use"):
                await PlainServer("127.0.0.1", first.port, Content()).start()
        finally:
            await first.stop()

    asyncio.run(main())
