"""The decision log in a file, asked about a pod."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moorage.cli.insight.names import near_names
from moorage.cli.setup import BadInput
from moorage.insight.words import words_for_pod

Document = dict[str, Any]

_ATTEMPTS = 50


def document_of(path: str, key: str) -> tuple[Document, Callable[[], Document]]:
    """The document of a pod as a scheduler would give it, and how to get the matrix of its last attempt."""
    from moorage.insight.log.files import NotALog, read_log
    from moorage.insight.log.gangs import gang_in_log

    try:
        log = read_log(path)
    except NotALog as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; check the path") from None
    attempts = log.attempts(pod=key, limit=_ATTEMPTS)
    if not attempts:
        summaries = (each.summary()["pod"] for each in log.attempts(limit=1000))
        known = list(dict.fromkeys(f"{pod['namespace']}/{pod['name']}" for pod in summaries))
        raise BadInput(f"{path}: tells nothing of a pod {key}{near_names(key, known)}")
    last = attempts[0].detail()
    document: Document = {
        "pod": last["pod"],
        "state": "unknown",
        "node": last["node"] if last["outcome"] in ("bound", "assumed") else "",
        "since": None,
        "tries": last["try"],
        "queue": None,
        "last": last,
        "attempts": [each.summary() for each in attempts],
        "closest": None,
        "advice": [],
    }
    gang = gang_in_log(log, last.get("gang", ""))
    if gang is not None:
        document["gang"] = gang
    document["words"] = words_for_pod(document)
    return document, lambda: attempts[0].matrix(limit=1_000_000)
