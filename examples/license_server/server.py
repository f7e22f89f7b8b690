"""A license server to try the plugin with: python examples/license_server/server.py PORT PRODUCT=SEATS ..."""

import sys

from aiohttp import web


def make_app(seats: dict[str, int]) -> web.Application:
    holders: dict[str, set[str]] = {product: set() for product in seats}

    async def take(request: web.Request) -> web.Response:
        asked = await request.json()
        product, holder = asked["product"], asked["holder"]
        if product not in seats:
            return web.Response(status=404)
        if holder not in holders[product] and len(holders[product]) >= seats[product]:
            return web.Response(status=409)
        holders[product].add(holder)
        return web.Response(status=200)

    async def free(request: web.Request) -> web.Response:
        for held in holders.values():
            held.discard(request.match_info["holder"])
        return web.Response(status=204)

    app = web.Application()
    app.add_routes([web.put("/seats/{holder}", take), web.delete("/seats/{holder}", free)])
    return app


if __name__ == "__main__":
    port, *products = sys.argv[1:]
    seats = {name: int(count) for name, _, count in (each.partition("=") for each in products)}
    web.run_app(make_app(seats), host="127.0.0.1", port=int(port), print=None)
