"""The questions that are asked in a copy of the process, and how their answers come back."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from moorage.framework.loading.registry import Registry
from moorage.insight.live.comparing import compare
from moorage.insight.live.copied import Copy
from moorage.insight.live.encoding import bounded, encode
from moorage.insight.live.freeing import best_change
from moorage.insight.live.problems import Problem
from moorage.insight.live.trying import TryBody, advice, find_pod, try_pod

if TYPE_CHECKING:
    from moorage.insight.advice.suggestions import Suggestion
    from moorage.scheduler.scheduler import Scheduler

__all__ = ["PART_OF_THE_TIME", "advise_groups", "advise_pod", "answered", "compare", "try_with_words"]

Document = dict[str, Any]
Question: TypeAlias = Callable[[Copy], Any]

PART_OF_THE_TIME = 0.75
"""Of the time that a copy has, for work that can be broken off."""
_MOST_GROUPS = 20
_PART_FOR_GROUPS = 0.5

_ANSWER, _PROBLEM = b"+", b"-"


def answered(scheduler: Scheduler, registry: Registry, question: Question) -> bytes:
    """In the copy: the answer to a question, or why there is none."""
    try:
        return _ANSWER + encode(question(Copy(scheduler, registry)))
    except Problem as problem:
        return _PROBLEM + encode([problem.code, problem.reason, problem.message])
    except Exception as error:
        return _PROBLEM + encode([500, "InternalError", f"{type(error).__name__}: {error}"[:1000]])


def answer_of(told: bytes) -> bytes:
    """In the process: the answer that came back; raises Problem if none did."""
    if told[:1] == _PROBLEM:
        code, reason, message = msgspec.json.decode(told[1:])
        raise Problem(code, reason, message)
    return told[1:]


def decoded(answer: bytes) -> Any:
    return msgspec.json.decode(answer)


def try_with_words(copy: Copy, asked: TryBody) -> Document:
    from moorage.insight.words import words_for_try

    answer = try_pod(copy, asked)
    answer["words"] = words_for_try(answer)
    told: Document = bounded(answer)
    return told


def advise_pod(copy: Copy, key: str) -> list[Document]:
    """What would help a pod that waits."""
    pod = find_pod(copy, key)
    profile = None if pod is None else copy.profiles.get(pod.spec.scheduler_name)
    return [] if pod is None or profile is None else advice(copy, profile, pod)


def advise_groups(copy: Copy, keys: Sequence[str], seconds: float) -> Document:
    """The best advice for the first pod of each group, and the one change that frees the most pods."""
    from moorage.insight.advice.advising import advise

    end = time.monotonic() + seconds
    end_of_advice = time.monotonic() + seconds * _PART_FOR_GROUPS
    found: dict[str, list[Suggestion]] = {}
    for key in keys[:_MOST_GROUPS]:
        left = end_of_advice - time.monotonic()
        if left <= 0:
            break
        pod = find_pod(copy, key)
        profile = None if pod is None else copy.profiles.get(pod.spec.scheduler_name)
        if pod is not None and profile is not None:
            found[key] = advise(copy.services, profile, pod, seconds=left)
    first = {key: each[0].document() if each else None for key, each in found.items()}
    return {"advice": first, "best": best_change(copy, found, end)}
