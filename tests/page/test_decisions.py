"""Decisions as they are made, and each with its numbers."""

from __future__ import annotations

from tests.page.browsing import ENTER, RIGHT, TAB, Browser
from tests.page.world import Document, World

CELLS = """
    return [...document.querySelectorAll(".matrix tbody tr:not(.room)")].map((row) =>
        [...row.children].map((cell) => cell.innerText.replaceAll("\\u2009", "")))
"""


def shown(row: Document, kind: str) -> list[str]:
    """How the page shows a row of the matrix."""
    name = f"{row['node']}chosen" if row.get("chosen") else row["node"]
    return [str(row["rank"]), name, str(row["total"]), *(str(score[kind]) for score in row["scores"])]


def cells(page: Browser) -> list[list[str]]:
    return [[cell.replace("\n", "") for cell in row] for row in page.run(CELLS)]


def test_a_click_on_a_decision_shows_the_matrix_with_the_numbers_of_the_log(
    page: Browser, world: World
) -> None:
    page.go("#/decisions?outcome=bound")
    page.wait_for_element("tbody tr")
    number = int(page.text("tbody tr td").removeprefix("#"))
    page.click("tbody tr td:nth-child(3)")
    page.wait_for_element(".matrix tbody tr")
    assert page.driver.current_url.endswith(f"#/decisions/{number}")
    expected = world.get(f"attempts/{number}/nodes", sort="total", order="desc", only="", limit=200)
    fitting = [row for row in expected["rows"] if row["fits"]]
    assert [head.split(" ×")[0] for head in page.texts(".matrix thead .plugin")] == [
        column["plugin"] for column in expected["columns"]
    ]
    seen = cells(page)
    count = min(len(seen), len(fitting))
    assert count > 10
    assert seen[:count] == [shown(row, "weighted") for row in fitting[:count]]
    for kind, place in (("normalized", 2), ("raw", 3)):
        page.click(f".bar fieldset:last-of-type label:nth-of-type({place}) input")
        assert cells(page)[:count] == [shown(row, kind) for row in fitting[:count]]
    detail = world.get(f"attempts/{number}")
    assert f"{detail['node']} was chosen" in page.text(".words")
    assert page.text(".matrix tr.chosen th").startswith(detail["node"])


def test_the_matrix_is_sorted_searched_and_narrowed_and_its_address_says_so(
    page: Browser, world: World
) -> None:
    number = world.get("attempts", outcome="bound", limit=1)["attempts"][0]["number"]
    page.go(f"#/decisions/{number}")
    page.wait_for_element(".matrix tbody tr")
    page.click(".matrix thead th:nth-child(2) button")
    names = sorted(row["node"] for row in world.get(f"attempts/{number}/nodes", limit=1000)["rows"])
    page.wait("names in order", lambda: cells(page)[0][1].removesuffix("chosen") == names[0])
    page.click(".bar fieldset:first-of-type label:nth-of-type(3) input")
    rejected = world.get(f"attempts/{number}/nodes", only="rejected", limit=1000)
    page.wait_for_text(f"{rejected['matching']} of", ".matrix-view .hint")
    assert {row[3].split(" ")[0] for row in cells(page)} <= {row["plugin"] for row in rejected["rows"]}
    page.fill("Search nodes", rejected["rows"][0]["node"])
    page.wait_for_text("1 of", ".matrix-view .hint")
    page.driver.refresh()
    page.wait_for_text("1 of", ".matrix-view .hint")
    assert cells(page)[0][1] == rejected["rows"][0]["node"]


def test_a_pod_that_does_not_fit_is_told_in_words_with_the_plugins_that_reject(
    page: Browser, world: World
) -> None:
    attempt = world.get("attempts", pod="default/picky", limit=1)["attempts"][0]
    page.go(f"#/decisions/{attempt['number']}")
    page.wait_for_element(".rejecting")
    detail = world.get(f"attempts/{attempt['number']}")
    rejecting = {each["plugin"]: each["rejected"] for each in detail["filters"] if each["rejected"]}
    told = dict(zip(page.texts(".rejecting-name b"), page.texts(".rejecting-name .number"), strict=True))
    assert {name: int(text.split(" ")[0]) for name, text in told.items()} == rejecting
    assert attempt["message"] in page.text(".words")


def test_filters_narrow_the_list(page: Browser, world: World) -> None:
    page.go("#/decisions")
    page.wait_for_element("tbody tr")
    page.fill("Pod", "default/picky")
    page.wait("one pod", lambda: set(page.texts("tbody td:nth-child(4)")) == {"default/picky"})
    assert page.driver.current_url.endswith("#/decisions?pod=default%2Fpicky")
    page.fill("Pod", "default/nobody")
    page.wait_for_text("No decision is like that.", "main")


def test_the_list_is_walked_and_opened_by_keyboard(page: Browser) -> None:
    page.run("document.querySelector('.skip').focus()")
    page.press(TAB, RIGHT, RIGHT, ENTER)
    page.wait_for_element("tbody tr")
    page.press("/")
    assert page.run("return document.activeElement.type") == "search"
    for _ in range(8):
        page.press(TAB)
        if page.run("return document.activeElement.matches('tbody a')"):
            break
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert page.run(outline) == "solid"
    opened = page.run("return document.activeElement.getAttribute('href')")
    page.press(ENTER)
    page.wait_for_element(".matrix tbody tr, .rejecting")
    assert page.driver.current_url.endswith(opened)


def test_older_decisions_follow_the_newest(page: Browser, world: World) -> None:
    total = world.get("summary")["log"]["attempts"]
    assert total > 100
    page.go("#/decisions")
    page.wait("a page", lambda: len(page.texts("tbody tr")) == 100)
    page.click("main p > button")
    page.wait("more", lambda: len(page.texts("tbody tr")) > 100)
    numbers = [int(text.removeprefix("#")) for text in page.texts("tbody td:first-child")]
    assert numbers == sorted(set(numbers), reverse=True)
    assert page.text(".view-head .hint").startswith("Paused")
