"""What comes with a write beside the object."""

from __future__ import annotations

from dataclasses import dataclass, field

from moorage.cluster.access.users import MASTERS, User
from moorage.cluster.errors import bad_request, unsupported_value
from moorage.cluster.errors import invalid as invalid_object
from moorage.cluster.requests import Query, Request

SYSTEM = User("system:apiserver", groups=(MASTERS,))
_LONGEST_MANAGER = 128
_LEVELS = ("Ignore", "Warn", "Strict")


@dataclass(slots=True)
class Options:
    """Who writes, under which name, and how strictly it is looked at; `warnings` collects what to tell."""

    user: User = SYSTEM
    manager: str = ""
    validation: str = "Ignore"
    dry_run: bool = False
    force: bool = False
    warnings: list[str] = field(default_factory=list)
    names_itself: bool = False
    """Whether the writer has given its name, which is otherwise that of its program."""


def options_of(query: Query, user: User, request: Request, kind: str) -> Options:
    """The options in the parameters of a POST, PUT or PATCH."""
    given = query.given
    level = given.get("fieldValidation") or "Warn"
    if level not in _LEVELS:
        raise invalid_object(kind, "meta.k8s.io", "", [unsupported_value("fieldValidation", level, _LEVELS)])
    manager = given.get("fieldManager") or _manager_of(request.header("user-agent"))
    if len(manager) > _LONGEST_MANAGER or not manager.isprintable():
        raise bad_request(f"fieldManager: must be at most {_LONGEST_MANAGER} printable characters")
    options = Options(user, manager, level, is_dry_run(query, kind), query.flag("force"))
    options.names_itself = bool(given.get("fieldManager"))
    return options


def _manager_of(user_agent: str) -> str:
    """The name of the program that writes."""
    name = user_agent.partition("/")[0].strip()
    return "".join(letter for letter in name if letter.isprintable())[:_LONGEST_MANAGER]


def is_dry_run(query: Query, kind: str) -> bool:
    value = query.given.get("dryRun")
    if not value:
        return False
    if value != "All":
        raise invalid_object(kind, "meta.k8s.io", "", [unsupported_value("dryRun", value, ("All",))])
    return True
