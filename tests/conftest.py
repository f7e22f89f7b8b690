"""Settings for all tests."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

# Times are never asserted, so an example may take as long as a busy machine makes it.
settings.register_profile("moorage", deadline=None)
settings.load_profile("moorage")

# A shell's background has Ctrl-C ignored, which the programs that tests start would inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long checks with large numbers")


@pytest.fixture(autouse=True)
def import_path() -> Iterator[None]:
    """What a plugin file adds to the import path goes with its test."""
    before = sys.path[:]
    yield
    sys.path[:] = before


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> bool:
    """Whether the long checks are wanted; a soak test chooses its numbers by it."""
    return bool(request.config.getoption("--soak"))
