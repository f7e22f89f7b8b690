"""What comes with a write beside the object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from moorage.cluster.access.requests import Query, Request
from moorage.cluster.access.users import MASTERS, User
from moorage.cluster.base import errors
from moorage.cluster.base.outside import Answers

T = TypeVar("T")
SYSTEM = User("system:apiserver", groups=(MASTERS,))
_LONGEST_MANAGER = 128
_LEVELS = ("", "Ignore", "Strict", "Warn")


@dataclass(slots=True)
class Options:
    """Who writes, under which name, and how strictly it is looked at; `warnings` collects what to tell."""

    user: User = SYSTEM
    manager: str = ""
    validation: str = "Ignore"
    dry_run: bool = False
    force: bool = False
    warnings: list[str] = field(default_factory=list)
    verb: str = "update"
    """Of a change, `patch` or `update`."""
    names_itself: bool = False
    """Whether the writer has given its name, which is otherwise that of its program."""
    told: dict[str, Any] = field(default_factory=dict)
    """The options as the writer has given them."""
    answers: Answers | None = None
    """What webhooks have said so far; None for writes that are nobody's business but the cluster's."""

    def fixed(self, name: str, make: Callable[[], T]) -> T:
        """What chance or the clock decides is decided once, however often a write is tried."""
        return make() if self.answers is None else self.answers.fixed(name, make)


def options_of(query: Query, user: User, request: Request, kind: str) -> Options:
    """The options in the parameters of a POST, PUT or PATCH."""
    given = query.given
    level = given.get("fieldValidation") or "Warn"
    manager = given.get("fieldManager", "")
    dry_run = [given["dryRun"]] if "dryRun" in given else []
    causes = [*_manager_problems(manager), *dry_run_problems(dry_run)]
    if level not in _LEVELS:
        causes.append(errors.unsupported_value("fieldValidation", level, _LEVELS))
    if causes:
        raise errors.invalid(kind, "meta.k8s.io", "", causes)
    return Options(
        user,
        manager or _manager_of(request.header("user-agent")),
        level,
        dry_run=bool(dry_run),
        force=query.flag("force"),
        verb="patch" if request.method == "PATCH" else "update",
        names_itself=bool(manager),
        told=_told(query, dry_run),
        answers=request.answers,
    )


def _told(query: Query, dry_run: list[str]) -> dict[str, Any]:
    given = {"dryRun": dry_run, **{name: query.text(name) for name in ("fieldManager", "fieldValidation")}}
    return {name: value for name, value in given.items() if value}


def _manager_of(user_agent: str) -> str:
    """The name of the program that writes."""
    name = user_agent.partition("/")[0].strip()
    return "".join(letter for letter in name if letter.isprintable())[:_LONGEST_MANAGER] or "unknown"


def _manager_problems(manager: str) -> list[errors.Cause]:
    problems = []
    if len(manager.encode(errors="replace")) > _LONGEST_MANAGER:
        problems.append(errors.too_long("fieldManager", _LONGEST_MANAGER))
    for position, letter in enumerate(manager):
        if not letter.isprintable():
            detail = f"invalid character U+{ord(letter):04X} (at position {position})"
            problems.append(errors.invalid_value("fieldManager", manager, detail))
    return problems


def dry_run_problems(values: Any) -> list[errors.Cause]:
    known = all(value == "All" for value in values)
    return [] if known else [errors.unsupported_value("dryRun", values, ("All",))]
