from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.page.browsing import Browser, browser, missing
from tests.page.world import World, busy_cluster
from tools.check_page import is_required


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests; skipped where there is none, unless it is required."""
    if lacking := missing():
        if is_required():
            pytest.fail(f"no browser: {lacking}")
        pytest.skip(f"no browser: {lacking}")
    with browser() as running:
        yield running


@pytest.fixture(scope="session")
def world(chromium: Browser) -> Iterator[World]:
    """One cluster for all tests, which only look at it."""
    with busy_cluster() as running:
        yield running


@pytest.fixture
def page(chromium: Browser, world: World) -> Iterator[Browser]:
    """The page, opened and signed in, with nothing left of earlier tests; its console must stay empty."""
    chromium.size(1280, 900)
    chromium.colours("light")
    chromium.open(world.page)
    chromium.forget()
    chromium.problems()
    chromium.open(world.signed_in)
    chromium.wait_for_text("Live", "#connection")
    yield chromium
    assert chromium.problems() == []
