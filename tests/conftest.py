"""Settings for all tests."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long checks with large numbers")


@pytest.fixture
def soak(request: pytest.FixtureRequest) -> bool:
    """Whether the long checks are wanted; a soak test chooses its numbers by it."""
    return bool(request.config.getoption("--soak"))
