"""The paths of the server and what they answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry

from moorage.api.pods import Pod
from moorage.server import pod_resources
from moorage.server.debugging import DebugPages
from moorage.server.exposition import CONTENT_TYPE, render
from moorage.server.health import HealthChecks, HealthMetrics, HealthReport, ping
from moorage.server.insight.api import InsightApi
from moorage.server.insight.page_files import PageFiles
from moorage.server.zpages import ZPage
from moorage.version import KUBERNETES_MINOR, build_info

Page = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Content:
    """What the server shows. The functions are called per request."""

    healthz: HealthChecks = field(default_factory=lambda: HealthChecks("healthz", ping=ping))
    livez: HealthChecks = field(default_factory=lambda: HealthChecks("livez", ping=ping))
    readyz: HealthChecks = field(default_factory=lambda: HealthChecks("readyz"))
    registries: Sequence[CollectorRegistry] = ()
    """What /metrics shows."""
    reset_metrics: Callable[[], None] = lambda: None
    pods: Callable[[], Iterable[Pod]] = lambda: ()
    """What /metrics/resources shows: all pods, or none unless this process leads."""
    config: Callable[[], Mapping[str, Any]] = dict
    """The component's configuration as a document."""
    flags: Mapping[str, str] | None = field(default_factory=dict)
    """What /flagz shows; None if there is no such page."""
    shows_status: bool = True
    """Whether there is /statusz."""
    set_verbosity: Callable[[int], None] | None = None
    """None if debugging endpoints are switched off."""
    insight: InsightApi | None = None
    """What answers below /insight/v1."""
    page_files: PageFiles | None = None
    """What /dashboard/ shows to everybody."""
    component: str = "kube-scheduler"
    clock: Callable[[], float] = time.time


class Pages:
    """What the paths answer."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._health = {
            f"/{checks.name}": checks for checks in (content.healthz, content.livez, content.readyz)
        }
        self._slis = HealthMetrics(*self._health.values())
        self._sli_registry = CollectorRegistry()
        self._sli_registry.register(self._slis)
        self._started = content.clock()
        self._by_path: dict[str, Page] = {
            "/metrics": self._metrics,
            "/metrics/slis": self._metrics_slis,
            "/metrics/resources": self._metrics_resources,
            "/configz": self._configz,
        }
        for path in self._health:
            self._by_path[path] = self._health_all
        if content.flags is not None:
            self._by_path["/flagz"] = ZPage(
                content.component, "Flagz", self._flags_text, lambda: {"flags": self._flags()}
            )
        if content.shows_status:
            paths = sorted({f"/{path.split('/')[1]}" for path in self._by_path})
            self._by_path["/statusz"] = ZPage(
                content.component,
                "Statusz",
                lambda: self._status_text(paths),
                lambda: self._status(paths),
            )
        self._debug: dict[str, Page] = {}
        if content.set_verbosity is not None:
            self._by_path["/debug/flags/v"] = self._verbosity
            self._debug.update(DebugPages().by_path)

    def find(self, path: str) -> Page | None:
        page = self._by_path.get(path) or self._debug.get(path)
        if page is None:
            parent, _, name = path.rpartition("/")
            if parent in self._health and name in self._health[parent]:
                return self._health_one
        return page

    async def _health_all(self, request: web.Request) -> web.Response:
        excluded = [name for value in request.query.getall("exclude", []) for name in value.split(",")]
        verbose = "verbose" in request.query
        return _health_response(self._health[request.path].all(verbose=verbose, exclude=excluded))

    async def _health_one(self, request: web.Request) -> web.Response:
        parent, _, name = request.path.rpartition("/")
        return _health_response(self._health[parent].one(name))

    async def _metrics(self, request: web.Request) -> web.Response:
        if request.method == "DELETE":
            self._content.reset_metrics()
            return web.Response(text="metrics reset\n")
        return _metrics_response(render(self._content.registries))

    async def _metrics_slis(self, request: web.Request) -> web.Response:
        if request.method == "DELETE":
            self._slis.reset()
            return web.Response(text="metrics reset\n")
        return _metrics_response(render([self._sli_registry]))

    async def _metrics_resources(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
        await response.prepare(request)
        for part in pod_resources.texts(self._content.pods()):
            await response.write(part.encode())
            # There may be many pods: scheduling goes on in between.
            await asyncio.sleep(0)
        await response.write_eof()
        return response

    async def _configz(self, request: web.Request) -> web.Response:
        return json_response({"componentconfig": self._content.config()})

    def _flags(self) -> dict[str, str]:
        return dict(sorted((self._content.flags or {}).items()))

    def _flags_text(self) -> str:
        return "".join(f"{name}={value}\n" for name, value in self._flags().items())

    def _status(self, paths: list[str]) -> dict[str, Any]:
        info = build_info()
        return {
            "startTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._started)),
            "uptimeSeconds": int(self._content.clock() - self._started),
            "goVersion": info["goVersion"],
            "binaryVersion": info["gitVersion"].removeprefix("v"),
            "emulationVersion": KUBERNETES_MINOR,
            "paths": paths,
        }

    def _status_text(self, paths: list[str]) -> str:
        status = self._status(paths)
        minutes, seconds = divmod(status["uptimeSeconds"], 60)
        hours, minutes = divmod(minutes, 60)
        started = time.strftime("%a %b %e %H:%M:%S UTC %Y", time.gmtime(self._started))
        return f"""
Started: {started}
Up: {hours} hr {minutes:02d} min {seconds:02d} sec
Go version: {status["goVersion"]}
Binary version: {status["binaryVersion"]}
Emulation version: {status["emulationVersion"]}
Paths: {" ".join(paths)}
"""

    async def _verbosity(self, request: web.Request) -> web.Response:
        if request.method != "PUT":
            return web.Response(status=406, text="unrecognized http method\n")
        body = (await request.text()).strip()
        if not body.isdecimal():
            return web.Response(status=400, text=f'failed to set verbosity: invalid value "{body:.20}"\n')
        assert self._content.set_verbosity is not None
        self._content.set_verbosity(int(body))
        return web.Response(text=f"successfully set klog.logging.verbosity to {body}")


def _health_response(answer: HealthReport) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache, private"}
    return web.Response(status=200 if answer.healthy else 500, text=answer.text, headers=headers)


def _metrics_response(text: str) -> web.Response:
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


def json_response(document: Any, *, status: int = 200, indent: int = 0) -> web.Response:
    body = msgspec.json.encode(document)
    if indent:
        body = msgspec.json.format(body, indent=indent)
    return web.Response(status=status, body=body, content_type="application/json")
