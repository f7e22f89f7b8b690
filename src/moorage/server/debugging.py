"""Pages below /debug: where the process spends its time, and where it is now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from aiohttp import web

from moorage.server.profiling import LONGEST_PROFILE, Sampler, stacks

_DEFAULT_SECONDS = "30"

INDEX = f"""\
/debug/pprof/

Moorage is written in Python; in the place of Go's profiles it has

/debug/profile   where all threads spent the time of the next seconds
    seconds=N         how long it looks, at most {LONGEST_PROFILE:.0f}; {_DEFAULT_SECONDS} unless given
    format=collapsed  text for flamegraph.pl, inferno and speedscope; the default
    format=speedscope JSON for https://www.speedscope.app
/debug/stacks    where all threads and all tasks are now
/debug/flags/v   PUT a number to log as with -v
"""


class DebugPages:
    """What the paths answer."""

    def __init__(self) -> None:
        self._sampler = Sampler()
        self.by_path: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
            "/debug/pprof": self._to_index,
            "/debug/pprof/": self._index,
            "/debug/profile": self._profile,
            "/debug/stacks": self._stacks,
        }

    async def _index(self, request: web.Request) -> web.Response:
        return web.Response(text=INDEX)

    async def _to_index(self, request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"Location": "/debug/pprof/"})

    async def _stacks(self, request: web.Request) -> web.Response:
        return web.Response(text=stacks())

    async def _profile(self, request: web.Request) -> web.Response:
        seconds = _number(request.query.get("seconds", _DEFAULT_SECONDS))
        if seconds is None:
            return _bad(f"seconds must be a number above 0 and at most {LONGEST_PROFILE:.0f}")
        wanted = request.query.get("format", "collapsed")
        if wanted not in ("collapsed", "speedscope"):
            return _bad("format must be collapsed or speedscope")
        profile = await self._sampler.profile(seconds)
        if profile is None:
            return web.Response(status=409, text="somebody else is just making a profile; try again later\n")
        if wanted == "speedscope":
            body = msgspec.json.encode(profile.speedscope())
            return web.Response(body=body, content_type="application/json")
        return web.Response(text=profile.collapsed())


def _number(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds <= LONGEST_PROFILE else None


def _bad(problem: str) -> web.Response:
    return web.Response(status=400, text=f"{problem}\n")
