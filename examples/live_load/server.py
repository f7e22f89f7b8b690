"""A metrics service to try the plugin with: python examples/live_load/server.py PORT NODE=LOAD ..."""

import asyncio
import sys

from aiohttp import web


def make_app(loads: dict[str, float]) -> web.Application:
    """Tells all loads at /loads; PUT /loads/NODE changes one and answers when somebody has read it."""
    read = asyncio.Condition()

    async def tell(request: web.Request) -> web.Response:
        async with read:
            read.notify_all()
        return web.json_response(loads)

    async def change(request: web.Request) -> web.Response:
        async with read:
            loads[request.match_info["node"]] = float(await request.text())
            await read.wait()
        return web.Response(status=204)

    app = web.Application()
    app.add_routes([web.get("/loads", tell), web.put("/loads/{node}", change)])
    return app


if __name__ == "__main__":
    port, *given = sys.argv[1:]
    loads = {name: float(load) for name, _, load in (each.partition("=") for each in given)}
    web.run_app(make_app(loads), host="127.0.0.1", port=int(port), print=None)
