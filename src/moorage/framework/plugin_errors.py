"""What plugins raise: how it is told in one line, where in the author's code it began, and its traceback.

Light to import: commands that load no plugin need it, too.
"""

from __future__ import annotations

import inspect
import logging
import sysconfig
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath
from types import TracebackType
from typing import Any

from moorage.framework.logger import FIELDS, Logger

_log = logging.getLogger(__name__)
_verbose = Logger(_log)

LONGEST_TEXT = 400
"""Characters of an exception's text: it stands in conditions and events among other things."""

MOST_KNOWN = 1000
_CUT = " ..."
_OWN = "moorage"
IN_TREE = frozenset({_OWN})
"""Who writes the in-tree plugins."""


class PluginError(Exception):
    """Raise it where something is wrong outside of your code, and where there is no Status to return.

    Other exceptions are taken for accidents: they are told with their type, and logged with a traceback. The
    text of this one is told as it is:

        def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
            price = self.prices.get(node.name)
            if price is None:
                raise PluginError("there is no price for this node")
    """


def told(error: BaseException, author: frozenset[str] = frozenset()) -> str:
    """An exception in one line: its type and its text.

    Those of this package that are sentences by themselves stay as they are.
    """
    kind = type(error)
    if is_sentence(error, author):
        return _text(error) or kind.__name__
    text = " ".join(_text(error).split())
    if isinstance(error, BaseExceptionGroup):
        text += f": {'; '.join(map(told, error.exceptions))}"
    # What cannot be written as UTF-8 could not be sent to an API server.
    text = text.encode(errors="backslashreplace").decode()
    if len(text) > LONGEST_TEXT:
        text = text[: LONGEST_TEXT - len(_CUT)] + _CUT
    return f"{kind.__name__}: {text}" if text else kind.__name__


def _text(error: BaseException) -> str:
    try:
        return error.msg if isinstance(error, SyntaxError) else str(error)
    except Exception as broken:
        return f"it has no text, as __str__ raised {type(broken).__name__}"


def is_sentence(error: BaseException, author: frozenset[str] = frozenset()) -> bool:
    """Whether the text of an exception says it all: it is one of this package's own.

    To authors, that a key is not there or a value is wrong says too little; what the in-tree plugins say
    about that is kube-scheduler's.
    """
    return is_ours(type(error)) and (author == IN_TREE or not isinstance(error, (LookupError, ValueError)))


def is_ours(thing: Any) -> bool:
    """Whether a class or a function belongs to Moorage."""
    return _package(thing.__module__ or "") == _OWN


def described(error: BaseException, author: frozenset[str] = frozenset()) -> str:
    """An exception in one line, and where in the author's code it was raised: `KeyError: 'a' (plugin.py:6)`.

    `author` are packages that count as the author's, wherever they are installed.
    """
    return f"{told(error, author)}{place(error, author)}"


def place(error: BaseException, author: frozenset[str] = frozenset()) -> str:
    """` (plugin.py:6)`: the innermost line of the author's code, or nothing if none took part."""
    found = _own_line(error, author)
    return f" ({PurePath(found[0]).name}:{found[1]})" if found else ""


def definition(method: Any) -> str:
    """` (plugin.py:6)`: where a method is defined, or nothing if that is not known."""
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    if code is None:
        return ""
    return f" ({PurePath(code.co_filename).name}:{code.co_firstlineno})"


def author_of(plugin: type[Any] | None) -> frozenset[str]:
    """The packages in which a plugin class is written; Moorage itself for the in-tree plugins alone."""
    packages = {_package(each.__module__) for each in plugin.__mro__} if plugin else set()
    return frozenset(packages - {_OWN, "builtins"}) or IN_TREE


def _package(module: str) -> str:
    return module.partition(".")[0]


def _own_line(error: BaseException, author: frozenset[str]) -> tuple[str, int] | None:
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return error.filename, error.lineno
    if isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        inner = _own_line(error.exceptions[0], author)
        if inner is not None:
            return inner
    own: tuple[str, int] | None = None
    for step in _steps(error.__traceback__):
        frame = step.tb_frame
        file = frame.f_code.co_filename
        package = _package(frame.f_globals.get("__name__") or "")
        is_own = package in author or (package != _OWN and not _is_library(file))
        if is_own and (own is None or not file.startswith("<")):  # made by a program, as dataclasses do
            own = file, step.tb_lineno
    return own


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


@lru_cache(maxsize=1024)
def _is_library(file: str) -> bool:
    """Whether a file belongs to Python or to an installed package, or is none at all."""
    if file.startswith("<"):
        return True
    if {"site-packages", "dist-packages"}.intersection(PurePath(file).parts):
        return True
    paths = sysconfig.get_paths()
    return file.startswith((f"{paths['stdlib']}/", f"{paths['platstdlib']}/"))


class PluginErrors:
    """Writes the tracebacks of what plugins raise to the log: once for each error, with `-v` each time.

    Two errors are the same if plugin, extension point, type, file and line are.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str, tuple[str, int] | None], None] = {}

    def note(
        self, error: BaseException, plugin: str, author: frozenset[str], point: str, **about: Any
    ) -> None:
        """A plugin raised this at an extension point; `about` is which pod or object it was about."""
        line = _own_line(error, author)
        if isinstance(error, PluginError) or (
            is_sentence(error, author) and (line is None or author == IN_TREE)
        ):
            return  # not an accident, but what the plugin or the check of its answer has to say
        key = plugin, point, type(error).__qualname__, line
        if key in self._known and not _verbose.enabled(1):
            return
        if key not in self._known and len(self._known) >= MOST_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[key] = None
        fields = {"err": described(error, author), "plugin": plugin, "extensionPoint": point, **about}
        _log.error(
            "Plugin %s raised an exception at %s",
            plugin,
            point,
            exc_info=(type(error), error, _since_author(error.__traceback__)),
            extra={FIELDS: fields},
        )


def _since_author(traceback: TracebackType | None) -> TracebackType | None:
    """Without the frames of the scheduler that led to the plugin."""
    for step in _steps(traceback):
        if _package(step.tb_frame.f_globals.get("__name__") or "") != _OWN:
            return step
    return traceback
