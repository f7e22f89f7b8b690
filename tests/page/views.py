"""The views of the page, with something to see in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.page.browsing import Browser
from tests.page.world import World


class View(NamedTuple):
    name: str
    address: str
    shows: str
    """What is there when it is ready."""
    prepare: Callable[[Browser], None] = lambda browser: None


def views(world: World) -> list[View]:
    """All of them."""
    placed = world.get("attempts", outcome="bound", limit=1)["attempts"][0]
    waiting = world.get("queue", search="large")["pods"]
    large = max(waiting, key=lambda each: each["tries"])["pod"]["name"]
    return [
        View("map", "#/map", ".legend-marks li"),
        View("queue", "#/queue", ".cause", _advise),
        View("queue-pods", "#/queue?by=pod", "tbody tr"),
        View("decisions", "#/decisions", "tbody tr"),
        View("decision", f"#/decisions/{placed['number']}", ".matrix tbody tr"),
        View("pod", f"#/pods/default/{large}", ".advice li"),
        View("plugins", "#/plugins", "tbody tr"),
        View("try", "#/try", ".try-form", _try),
        View("compare", "#/compare", "textarea", _compare),
    ]


def show(browser: Browser, view: View) -> None:
    """Goes to a view, and has it show what it can."""
    browser.go(view.address)
    browser.wait_for_element(f"main {view.shows}")
    view.prepare(browser)


def _advise(browser: Browser) -> None:
    browser.click("main button.primary")
    browser.wait_for_element(".suggestion")


def _try(browser: Browser) -> None:
    browser.fill("cpu", "30")
    browser.click("main button.primary")
    browser.wait_for_element(".trial .advice li")


def _compare(browser: Browser) -> None:
    browser.click("main form button:not(.primary)")
    browser.click("main button.primary")
    browser.wait_for_element(".verdict")
