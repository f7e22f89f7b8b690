"""What plugins may answer. A check returns the answer, or raises WrongAnswer with the method in the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from moorage.framework.events import ClusterEvent, Hint
from moorage.framework.status import Nomination, Status, Wait
from moorage.framework.verdicts import Verdicts
from moorage.state.columns import Int64s

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class WrongAnswer(TypeError):
    """A plugin returned something that is no answer; the text begins with the method."""

    @property
    def method(self) -> str:
        return str(self).partition(" ")[0]


def _shown(answer: object) -> str:
    """A wrong answer in a message; without its address, so that the same answer gives the same message."""
    return _ADDRESS.sub("", repr(answer))[:80]


def _wrong(method: str, answer: object, allowed: str) -> WrongAnswer:
    return WrongAnswer(f"{method} returned {type(answer).__name__} {_shown(answer)}, use {allowed}")


def status_of(method: str) -> Callable[[object], Status | None]:
    """The check for a method that returns None or a Status."""

    def checked(answer: object) -> Status | None:
        if answer is None or isinstance(answer, Status):
            return answer
        raise _wrong(method, answer, "None or a Status")

    return checked


def nothing_of(method: str) -> Callable[[object], None]:
    """The check for a method that returns nothing."""

    def checked(answer: object) -> None:
        if answer is not None:
            raise WrongAnswer(f"{method} returned {type(answer).__name__}, there is nothing to return")

    return checked


def nodes_or_status(answer: object) -> set[str] | frozenset[str] | Status | None:
    """The check for `pre_filter`."""
    if answer is None or isinstance(answer, (Status, set, frozenset)):
        return answer
    raise _wrong("pre_filter", answer, "None, a set of node names or a Status")


def verdicts_for(size: int) -> Callable[[object], Verdicts]:
    """The check for `filter_nodes` that was asked about so many nodes."""

    def checked(answer: object) -> Verdicts:
        if not isinstance(answer, Verdicts):
            raise WrongAnswer(f"filter_nodes returned {type(answer).__name__}, use Verdicts")
        codes = answer.codes
        if codes is not None:
            if not isinstance(codes, np.ndarray) or codes.shape != (size,):
                raise WrongAnswer(f"filter_nodes returned verdicts that are not one per node ({size})")
            if codes.dtype.kind not in "iub":
                raise WrongAnswer(f"filter_nodes returned verdicts of {codes.dtype}, use whole numbers")
            if not isinstance(answer.statuses, (list, tuple)):
                raise WrongAnswer(
                    f"filter_nodes returned verdicts with {_shown(answer.statuses)}, use a list"
                )
        return answer

    return checked


def nomination_or_status(answer: object) -> Nomination | Status:
    """The check for `post_filter`."""
    if isinstance(answer, Status):
        return answer
    if not isinstance(answer, Nomination):
        raise WrongAnswer(f"post_filter returned {type(answer).__name__}, use a Nomination or a Status")
    name: object = answer.node_name
    if not isinstance(name, str):
        raise WrongAnswer(f"post_filter returned a Nomination of {type(name).__name__}, use a node's name")
    status: object = answer.status
    if status is not None and not isinstance(status, Status):
        raise WrongAnswer(f"post_filter returned a Nomination with {type(status).__name__}, use a Status")
    return answer


def checked_score(score: object, node_name: str) -> int:
    """The score of one node."""
    if isinstance(score, (int, np.integer)) and not isinstance(score, (bool, np.bool_)):
        return int(score)
    raise WrongAnswer(
        f"score returned {type(score).__name__} {_shown(score)} for node {node_name}, use a whole number"
    )


def checked_scores(scores: object, size: int, method: str) -> Int64s:
    """The scores of so many nodes."""
    if not isinstance(scores, np.ndarray):
        raise WrongAnswer(f"{method} returned {type(scores).__name__}, use an array of whole numbers")
    if scores.shape != (size,):
        raise WrongAnswer(f"{method} returned {scores.shape} scores for {size} nodes")
    if scores.dtype != np.int64:
        if scores.dtype.kind not in "iu":
            raise WrongAnswer(f"{method} returned an array of {scores.dtype}, use whole numbers (int64)")
        return scores.astype(np.int64)
    return scores


def wait_or_status(answer: object) -> Wait | Status | None:
    """The check for `permit`."""
    if isinstance(answer, Wait):
        timeout: object = answer.timeout
        if not isinstance(timeout, (int, float)) or timeout != timeout:
            raise WrongAnswer(f"permit returned Wait({timeout!r}), use a number of seconds")
        return answer
    if answer is None or isinstance(answer, Status):
        return answer
    raise _wrong("permit", answer, "None, a Wait or a Status")


def listed_events(answer: object) -> list[ClusterEvent] | None:
    """The check for `events`."""
    if answer is None:
        return None
    if isinstance(answer, (str, ClusterEvent)) or not isinstance(answer, Iterable):
        raise _wrong("events", answer, "a list of ClusterEvent")
    listed = list(answer)
    for event in listed:
        if not isinstance(event, ClusterEvent):
            raise WrongAnswer(f"events returned {_shown(event)}, use a list of ClusterEvent")
    return listed


def hint(answer: object) -> Hint:
    """The check for the function that comes with an event."""
    if isinstance(answer, Hint):
        return answer
    raise WrongAnswer(f"the hint returned {_shown(answer)}, use Hint.QUEUE or Hint.SKIP")
