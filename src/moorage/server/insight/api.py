"""The paths of insight: what they take and what they answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, NamedTuple, TypeVar

from aiohttp import web

from moorage.insight.live.broadcast import Broadcast
from moorage.insight.live.comparing import read_compare
from moorage.insight.live.encoding import encode
from moorage.insight.live.problems import Problem, bad_question
from moorage.insight.live.questions import Questions
from moorage.insight.live.trying import read_try
from moorage.insight.live.waiting import PLACES
from moorage.insight.log.entries import OUTCOMES
from moorage.server.insight.openapi import PREFIX, openapi
from moorage.server.insight.queries import Query, token, whole
from moorage.server.insight.streaming import stream
from moorage.server.statuses import status_response

MOST_NODES = 20_000
BODY_LIMIT = 2**20

_LOOK_SECONDS = 0.25
_ONLY = ("feasible", "rejected", "unseen")

Handler = Callable[[web.Request, tuple[str, ...]], Awaitable[web.StreamResponse]]
T = TypeVar("T")

log = logging.getLogger(__name__)


class Route(NamedTuple):
    """A path of the API. `template` is the path as documents have it, with `{name}` for what varies."""

    method: str
    template: str
    handler: Handler

    def match(self, path: str) -> tuple[str, ...] | None:
        """What stands in the place of the names."""
        found = re.fullmatch(re.sub(r"\{\w+\}", "([^/]+)", self.template), path)
        return None if found is None else found.groups()


class InsightApi:
    """Answers requests to paths below `/insight/v1`, which somebody else has authorised.

    `questions` gives what is asked of the scheduler that runs; None while there is none.
    """

    def __init__(self, questions: Callable[[], Questions | None]) -> None:
        self._questions = questions
        self.broadcast = Broadcast(questions)
        self.routes = tuple(
            Route(method, PREFIX + template, handler)
            for method, template, handler in (
                ("GET", "/summary", self._summary),
                ("GET", "/nodes", self._nodes),
                ("GET", "/queue", self._queue),
                ("GET", "/pending", self._pending),
                ("GET", "/attempts", self._attempts),
                ("GET", "/attempts/{number}", self._attempt),
                ("GET", "/attempts/{number}/nodes", self._matrix),
                ("GET", "/pods/{namespace}/{name}", self._pod),
                ("GET", "/plugins", self._plugins),
                ("GET", "/stream", self._stream),
                ("GET", "/openapi", self._openapi),
                ("POST", "/try", self._try),
                ("POST", "/compare", self._compare),
            )
        )

    def owns(self, path: str) -> bool:
        return path == PREFIX or path.startswith(f"{PREFIX}/")

    def close(self) -> None:
        """Ends the streams."""
        self.broadcast.close()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._answer(request)
        except Problem as problem:
            return status_response(problem.code, problem.reason, problem.message)
        except (ConnectionError, web.HTTPException):
            raise
        except Exception:
            log.exception("%s %s: unexpected error", request.method, request.path)
            return status_response(500, "InternalError", "an error has prevented the answer; the log has it")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        path, others = request.path, set[str]()
        for route in self.routes:
            found = route.match(path)
            if found is None:
                continue
            if route.method == request.method:
                return await route.handler(request, found)
            others.add(route.method)
        if others:
            raise Problem(405, "MethodNotAllowed", f"this path takes {', '.join(sorted(others))} only")
        raise Problem(404, "NotFound", f"there is no such path; {PREFIX}/openapi tells which there are")

    def _ask(self) -> Questions:
        questions = self._questions()
        if questions is None:
            raise Problem(
                503,
                "ServiceUnavailable",
                "no scheduler runs, or it keeps no decisions (--decision-log-memory=0)",
            )
        return questions

    # One method per path

    async def _summary(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        return _answered(self._ask().summary())

    async def _nodes(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("labels", "limit", "continue"))
        limit = query.limit(MOST_NODES, MOST_NODES)
        begin, version = query.position(tuple[int, int]) or (0, None)
        questions = self._ask()
        document = questions.nodes(query.words("labels"), max(begin, 0), limit, version)
        if begin + limit < questions.node_total:
            document["continue"] = token((begin + limit, document["version"]))
        return _answered(document)

    async def _queue(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("where", "search", "limit", "continue"))
        where = query.choice("where", PLACES)
        after = query.position(tuple[str, str])
        document, following = await self._ask().queue(where, query.text("search"), after, query.limit())
        if following is not None:
            document["continue"] = token(following)
        return _answered(document)

    async def _pending(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("advise", "namespace"))
        asked = self._ask().pending(advise=query.flag("advise"), namespace=query.text("namespace"))
        return _answered(await _while_it_is_wanted(request, asked))

    async def _attempts(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("pod", "outcome", "node", "plugin", "limit", "continue"))
        limit = query.limit()
        pod = query.text("pod")
        if pod and pod.count("/") != 1:
            raise bad_question("pod: write it like default/web-1")
        attempts = await self._ask().attempts(
            pod=pod,
            outcome=query.choice("outcome", OUTCOMES),
            node=query.text("node"),
            plugin=query.text("plugin"),
            before=query.position(int),
            limit=limit + 1,
        )
        document: dict[str, Any] = {"attempts": attempts[:limit]}
        if len(attempts) > limit:
            document["continue"] = token(attempts[limit - 1]["number"])
        return _answered(document)

    async def _attempt(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        return _answered(self._ask().attempt(whole(parts[0], "the number of the attempt")))

    async def _matrix(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("sort", "order", "search", "only", "limit", "continue"))
        offset, limit = query.position(int) or 0, query.limit()
        sort = query.text("sort") or "total"
        order = query.choice("order", ("asc", "desc")) or ("asc" if sort == "name" else "desc")
        try:
            document = self._ask().matrix(
                whole(parts[0], "the number of the attempt"),
                sort=sort,
                descending=order == "desc",
                search=query.text("search"),
                only=query.choice("only", _ONLY),
                offset=max(offset, 0),
                limit=limit,
            )
        except ValueError as error:
            raise bad_question(str(error)) from None
        if offset + limit < document["matching"]:
            document["continue"] = token(offset + limit)
        return _answered(document)

    async def _pod(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        query = Query(request, ("advise",))
        asked = self._ask().pod(*parts, advise=query.flag("advise"))
        return _answered(await _while_it_is_wanted(request, asked))

    async def _plugins(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        return _answered(self._ask().plugins())

    async def _stream(self, request: web.Request, parts: tuple[str, ...]) -> web.StreamResponse:
        query = Query(request, ("since",))
        since = query.number("since")
        last = request.headers.get("Last-Event-ID", "")
        if since is None and last:
            since = whole(last, "Last-Event-ID")
        self._ask()
        return await stream(request, self.broadcast, since)

    async def _openapi(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        return _answered(openapi())

    async def _try(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        asked = self._ask().try_pod(read_try(await _body(request)))
        return _json(await _while_it_is_wanted(request, asked))

    async def _compare(self, request: web.Request, parts: tuple[str, ...]) -> web.Response:
        Query(request, ())
        asked = self._ask().compare(read_compare(await _body(request)))
        return _json(await _while_it_is_wanted(request, asked))


async def _body(request: web.Request) -> bytes:
    """Raises Problem if it is too large, before it is read."""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        message = f"the body is larger than {BODY_LIMIT} bytes"
        raise Problem(413, "RequestEntityTooLarge", message) from None


async def _while_it_is_wanted(request: web.Request, asked: Coroutine[Any, Any, T]) -> T:
    """The answer, given up when the caller has gone: what it takes is better spent on others."""
    task = asyncio.ensure_future(asked)
    try:
        while not task.done():
            await asyncio.wait((task,), timeout=_LOOK_SECONDS)
            if request.transport is None or request.transport.is_closing():
                raise Problem(499, "ClientClosedRequest", "the caller has gone")
        return task.result()
    finally:
        task.cancel()


def _answered(document: Any) -> web.Response:
    return _json(encode(document))


def _json(body: bytes) -> web.Response:
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
    return web.Response(body=body, content_type="application/json", headers=headers)
