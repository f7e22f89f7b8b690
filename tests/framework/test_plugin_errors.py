from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.client.errors import NotFound
from moorage.framework import plugin_errors
from moorage.framework.cycle_state import NothingWritten
from moorage.framework.plugin_errors import LONGEST_TEXT, PluginErrors, author_of, described, told
from tests.framework.scripted import Filters, plugin


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KeyError("zone"), "KeyError: 'zone'"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (ValueError("two\n  lines\r\n"), "ValueError: two lines"),
        (ValueError("x" * 1000), f"ValueError: {'x' * (LONGEST_TEXT - 4)} ..."),
        (OSError("\udcff"), "OSError: \\udcff"),
        (Unspeakable(), "Unspeakable: it has no text, as __str__ raised RuntimeError"),
        (NotFound(404, "NotFound", 'pods "a" not found'), 'pods "a" not found'),
        (NotFound(404, "NotFound", ""), "NotFound"),
        (NothingWritten(), "NothingWritten: not found"),
        (
            ExceptionGroup("errors in a group", [KeyError("zone"), ValueError("x")]),
            "ExceptionGroup: errors in a group (2 sub-exceptions): KeyError: 'zone'; ValueError: x",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_exception_is_told_in_one_line(error: BaseException, text: str) -> None:
    assert told(error) == text


def installed(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module in a folder where packages are installed."""
    place = folder / "site-packages"
    place.mkdir(exist_ok=True)
    (place / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(place))
    monkeypatch.setitem(sys.modules, name, None)
    del sys.modules[name]
    return __import__(name)


def raised(call: Any) -> BaseException:
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def test_the_line_is_the_authors_even_if_a_library_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = installed(tmp_path, "mine_lib", "def get():\n    return {}['zone']\n", monkeypatch)

    def author() -> None:
        library.get()

    line = author.__code__.co_firstlineno + 1
    assert described(raised(author)) == f"KeyError: 'zone' (test_plugin_errors.py:{line})"
    assert described(raised(library.get)).startswith("KeyError: 'zone' (test_plugin_errors.py:")


def test_of_a_group_with_one_error_its_line_counts() -> None:
    async def late() -> None:
        raise KeyError("zone")

    async def author() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(late())

    line = late.__code__.co_firstlineno + 1
    assert described(raised(lambda: asyncio.run(author()))).endswith(f"(test_plugin_errors.py:{line})")


def test_a_plugin_that_is_installed_is_its_author_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import json\nfrom moorage import FilterPlugin\n\nclass Boom(FilterPlugin):\n"
        "    def filter(self, cycle, pod, node):\n        json.loads('{')\n"
    )
    made = installed(tmp_path, "mine_installed", text, monkeypatch).Boom
    error = raised(lambda: made(None, None).filter(None, None, None))
    assert described(error, author_of(made)).endswith("(mine_installed.py:6)")
    assert "mine_installed.py" not in described(error)


def test_known_errors_are_bounded(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin_errors, "MOST_KNOWN", 2)
    errors, author = PluginErrors(), author_of(plugin(Filters, "A"))
    error = raised(lambda: [][0])

    def note(*points: str) -> int:
        caplog.clear()
        for point in points:
            errors.note(error, "A", author, point)
        return len([record for record in caplog.records if record.levelno == logging.ERROR])

    assert note("One", "One", "Two", "One") == 2
    assert note("Three") == 1
    assert note("Two", "Three") == 0
    assert note("One") == 1
