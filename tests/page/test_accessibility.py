"""No serious fault for those who see, hear or type otherwise; pictures of every view are made on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.page.browsing import Browser
from tests.page.views import show, views
from tests.page.world import World
from tools.check_page import Missing, is_required, packages

PICTURES = Path(__file__).parents[2] / "build" / "screenshots"

FAULTS = """
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations
        .filter((each) => each.impact === "serious" || each.impact === "critical")
        .map((each) => [each.id, each.nodes.map((node) => [node.html, node.failureSummary])])
"""


@pytest.fixture(scope="module")
def axe() -> str:
    try:
        return (packages() / "axe-core" / "axe.min.js").read_text()
    except Missing as reason:
        if is_required():
            pytest.fail(f"no axe: {reason}")
        pytest.skip(f"no axe: {reason}")


def faults(page: Browser, axe: str) -> list[Any]:
    page.run(axe)
    found: list[Any] = page.ask(FAULTS)
    return found


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_no_serious_fault_in_any_view(page: Browser, world: World, axe: str, colours: str) -> None:
    page.colours(colours)
    for view in views(world):
        show(page, view)
        page.picture(PICTURES / f"{view.name}-{colours}.png")
        assert (view.name, faults(page, axe)) == (view.name, [])


def test_every_view_fits_a_narrow_and_a_wide_screen(page: Browser, world: World, axe: str) -> None:
    for view in views(world):
        for width, height, name in ((390, 844, "narrow"), (2560, 1300, "wide")):
            page.size(width, height)
            show(page, view)
            if name == "narrow":
                page.picture(PICTURES / f"{view.name}-{name}.png")
                assert (view.name, faults(page, axe)) == (view.name, [])
            beyond = page.run(
                "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert (view.name, width, beyond) == (view.name, width, 0)


def test_axe_finds_no_serious_fault_at_the_sign_in(chromium: Browser, world: World, axe: str) -> None:
    chromium.open(world.page)
    chromium.forget()
    chromium.open(world.page)
    chromium.wait_for_element("input[type=password]")
    chromium.picture(PICTURES / "sign-in-light.png")
    assert faults(chromium, axe) == []
    chromium.problems()


def test_every_control_can_be_reached_by_tab_and_shows_it(page: Browser, world: World) -> None:
    for view in views(world):
        page.go(view.address)
        page.wait_for_element(f"main {view.shows}")
        unreachable = page.run(
            """
            const kinds = "main :is(button, a, input, select, textarea)";
            const controls = [...document.querySelectorAll(kinds)].filter((each) => each.checkVisibility());
            const lost = controls.filter((each) => !each.disabled && each.tabIndex < 0);
            return lost.map((each) => each.outerHTML)
            """
        )
        assert (view.name, unreachable) == (view.name, [])
