"""The page opens, signs in, and shows what runs."""

from __future__ import annotations

from tests.page.browsing import Browser
from tests.page.views import show, views
from tests.page.world import World, up

NOT_KNOWN = "The scheduler does not know this token (401)."


def test_the_token_leaves_the_address_at_once_and_lasts_for_the_tab(page: Browser, world: World) -> None:
    assert world.token not in page.driver.current_url
    page.go("#/plugins")
    page.driver.refresh()
    page.wait_for_text("Live", "#connection")
    assert page.text("h1") == "Plugins"


def test_every_view_opens_from_its_tab_and_back_leads_back(page: Browser) -> None:
    titles = []
    for tab in page.texts("#tabs a"):
        page.run(
            "[...document.querySelectorAll('#tabs a')].find((a) => a.innerText === arguments[0]).click()", tab
        )
        page.wait(tab, lambda tab=tab: page.text("#tabs [aria-current]") == tab)  # type: ignore[misc]
        titles.append(page.driver.title)
    assert len(set(titles)) == len(titles) == 7
    page.driver.back()
    page.wait("the tab before", lambda: page.driver.title == titles[-2])


def test_nothing_is_asked_of_anybody_else(page: Browser, world: World) -> None:
    for view in views(world):
        show(page, view)
    asked = page.run("return performance.getEntriesByType('resource').map((each) => each.name)")
    assert [url for url in asked if not url.startswith(world.url)] == []
    assert [url for url in asked if world.token in url] == []


def test_figures_are_those_of_the_summary(page: Browser, world: World) -> None:
    summary = world.get("summary")
    waiting = sum(summary["queue"][place] for place in ("active", "backoff", "unschedulable", "gated"))
    expected = [f"{summary['nodes']} nodes", f"{summary['placedPods']} pods placed", f"{waiting} waiting"]
    page.wait("figures", lambda: [text.replace("\n", " ") for text in page.texts(".figure")][:3] == expected)


def test_without_a_token_the_page_asks_for_one_and_says_where_it_is(chromium: Browser, world: World) -> None:
    chromium.open(world.page)
    chromium.forget()
    chromium.open(world.page)
    chromium.wait_for_element("input[type=password]")
    assert "moorage up prints an address" in chromium.text("main")
    chromium.fill("Token", world.token)
    chromium.press("\ue007")
    chromium.wait_for_text("Live", "#connection")
    chromium.click("#sign-out")
    chromium.wait_for_element("input[type=password]")
    assert chromium.run("return sessionStorage.length") == 0
    chromium.problems()


def test_an_unknown_token_is_told_in_words(chromium: Browser, world: World) -> None:
    chromium.open(world.page)
    chromium.forget()
    chromium.open(f"{world.page}#token=wrong")
    chromium.wait_for_text(NOT_KNOWN, "[role=alert]")
    assert chromium.run("return sessionStorage.length") == 0
    problems = chromium.problems()
    assert all("401" in each for each in problems), problems


def test_a_token_without_rights_is_told_in_words(chromium: Browser, world: World) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "guest"}}
    world.create("/api/v1/namespaces/default/serviceaccounts", account)
    token = world.token_of("guest")
    chromium.open(world.page)
    chromium.forget()
    chromium.open(f"{world.page}#token={token}")
    chromium.wait_for_text("This token may not see that (403)", "#connection")
    assert "(403)" in chromium.text("main [role=alert]")
    chromium.go("#/plugins")
    chromium.wait_for_text("(403)", "main [role=alert]")
    problems = chromium.problems()
    assert all("403" in each for each in problems), problems


def test_the_page_says_when_the_stream_is_cut(chromium: Browser) -> None:
    with up("--nodes=3") as world:
        chromium.open(world.signed_in)
        chromium.wait_for_text("Live", "#connection")
    chromium.wait_for_text("Cut off", "#connection")
    chromium.wait_for_text("again in", "#connection")
    chromium.open("about:blank")
    chromium.problems()


def test_what_is_not_there_is_told_in_words(page: Browser) -> None:
    page.go("#/pods/default/nobody")
    page.wait_for_element("[role=alert]")
    assert "default/nobody" in page.text("[role=alert]")
    page.go("#/decisions/99999999")
    page.wait_for_text("99999999", "[role=alert]")
    page.go("#/nowhere")
    page.wait_for_text("There is no such view.", "main")
    problems = page.problems()
    assert all("404" in each for each in problems), problems


def test_the_choice_of_colours_is_remembered(page: Browser) -> None:
    background = "return getComputedStyle(document.documentElement).backgroundColor"
    light = page.run(background)
    page.click("#theme")
    dark = page.run(background)
    page.driver.refresh()
    page.wait_for_element("#theme")
    assert page.run(background) == dark != light
    assert page.text("#theme") == "Light"
