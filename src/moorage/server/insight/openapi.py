"""The OpenAPI document of the API."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import moorage
from moorage.server.insight.schemas import FLAG, SCHEMAS, TEXT, WHOLE, Schema, one_of, ref, said

PREFIX = "/insight/v1"


class Parameter(NamedTuple):
    name: str
    schema: Schema
    place: str = "query"


class Operation(NamedTuple):
    """What one path answers; `answer` and `body` name schemas."""

    path: str
    summary: str
    answer: str
    parameters: tuple[Parameter, ...] = ()
    body: str = ""


_LIMIT = Parameter(
    "limit", said({**WHOLE, "minimum": 1, "maximum": 1000, "default": 100}, "How many at most.")
)
_CONTINUE = Parameter("continue", said(TEXT, "What the page before says, to go on from there."))
_ADVISE = Parameter("advise", said({**FLAG, "default": False}, "Whether to say what would help."))
_NUMBER = Parameter("number", WHOLE, "path")
_SEARCH = Parameter("search", TEXT)

OPERATIONS = (
    Operation("/summary", "The scheduler as a whole.", "Summary"),
    Operation(
        "/nodes",
        "The nodes in columns.",
        "Nodes",
        (
            Parameter("labels", said(TEXT, "Keys of labels to tell, with commas between them; at most 8.")),
            Parameter(
                "limit",
                said({**WHOLE, "minimum": 1, "maximum": 20_000, "default": 20_000}, "How many at most."),
            ),
            _CONTINUE,
        ),
    ),
    Operation(
        "/queue",
        "The pods that wait, the oldest first.",
        "Queue",
        (
            Parameter("where", one_of("active", "backoff", "unschedulable", "gated")),
            Parameter(
                "search", said(TEXT, "A part of a pod's `namespace/name`, or of a plugin that rejected it.")
            ),
            _LIMIT,
            _CONTINUE,
        ),
    ),
    Operation(
        "/pending",
        "The pods that wait, by cause.",
        "Pending",
        (_ADVISE, Parameter("namespace", said(TEXT, "Only pods of this namespace."))),
    ),
    Operation(
        "/attempts",
        "Attempts to schedule pods, the newest first.",
        "Attempts",
        (
            Parameter("pod", said(TEXT, "As `namespace/name`.")),
            Parameter("outcome", SCHEMAS["AttemptSummary"]["properties"]["outcome"]),
            Parameter("node", said(TEXT, "That was chosen or nominated.")),
            Parameter("plugin", said(TEXT, "That rejected.")),
            _LIMIT,
            _CONTINUE,
        ),
    ),
    Operation("/attempts/{number}", "One attempt in all detail.", "Attempt", (_NUMBER,)),
    Operation(
        "/attempts/{number}/nodes",
        "What each plugin said about each node in an attempt.",
        "Matrix",
        (
            _NUMBER,
            Parameter("sort", said({**TEXT, "default": "total"}, "`total`, `name` or a plugin.")),
            Parameter("order", one_of("asc", "desc")),
            _SEARCH,
            Parameter("only", one_of("feasible", "rejected", "unseen")),
            _LIMIT,
            _CONTINUE,
        ),
    ),
    Operation(
        "/pods/{namespace}/{name}",
        "A pod: where it is, why, and its story.",
        "Pod",
        (Parameter("namespace", TEXT, "path"), Parameter("name", TEXT, "path"), _ADVISE),
    ),
    Operation("/plugins", "What plugins took.", "Plugins"),
    Operation(
        "/stream",
        "Server-sent events, as things happen: `attempts`, `outcomes`, `usage`, `summary`.",
        "",
        (
            Parameter("since", said(WHOLE, "Goes on behind the attempt of this number.")),
            Parameter("Last-Event-ID", said(WHOLE, "The same, as browsers say it."), "header"),
        ),
    ),
    Operation("/openapi", "This document.", "OpenApi"),
    Operation("/try", "What would become of a pod. Nothing is changed by it.", "Try", body="TryBody"),
    Operation(
        "/compare", "Which placements another configuration would change.", "Compare", body="CompareBody"
    ),
)

_STREAM = """Events have a name, JSON as data, and as `id` the number of the newest attempt. `attempts`
(StreamAttempts): new attempts, at most five times a second and 100 at a time; `missed` counts those left
out. `outcomes` (StreamOutcomes): what became of attempts told before. `usage` (StreamUsage): what is in use
on nodes, for the rows that changed. `summary` (Summary): once a second. A comment after 15 seconds of silence
keeps the connection open."""

_NO_ANSWER = """Why there is no answer: 400 for a question that cannot be understood, 401 and 403 for callers
without rights, 404 for what is not there, 410 for a page that is outdated, 413, 429 and 504 for what is too
much, 503 while no scheduler runs."""


@cache
def openapi() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Moorage insight",
            "version": moorage.__version__,
            "description": "Why pods are where they are. It is read-only: `POST` asks questions with a body.",
        },
        "security": [{"bearer": []}],
        "paths": {PREFIX + operation.path: _path(operation) for operation in OPERATIONS},
        "components": {
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
            "schemas": {**SCHEMAS, "OpenApi": {"type": "object"}},
        },
    }


def _path(operation: Operation) -> dict[str, Any]:
    if operation.answer:
        content = {"application/json": {"schema": ref(operation.answer)}}
        description = operation.summary
    else:
        content, description = {"text/event-stream": {"schema": TEXT}}, _STREAM.replace("\n", " ")
    document: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": [
            {"name": name, "in": place, "required": place == "path", "schema": schema}
            for name, schema, place in operation.parameters
        ],
        "responses": {
            "200": {"description": description, "content": content},
            "default": {
                "description": _NO_ANSWER.replace("\n", " "),
                "content": {"application/json": {"schema": ref("Status")}},
            },
        },
    }
    if operation.body:
        body = {"required": True, "content": {"application/json": {"schema": ref(operation.body)}}}
        return {"post": {**document, "requestBody": body}}
    return {"get": document}
