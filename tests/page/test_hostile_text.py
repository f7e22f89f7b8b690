"""Markup and control characters are shown as what they are."""

from __future__ import annotations

import json

import pytest

from tests.page.browsing import Browser
from tests.page.world import CONTROLS, MARKUP, SHOWN_CONTROLS, World, pod


def assert_shown(page: Browser, selector: str = "main") -> None:
    page.wait("the text", lambda: MARKUP in page.text(selector) and SHOWN_CONTROLS in page.text(selector))
    assert page.run("return document.querySelectorAll('main img, main script').length") == 0
    assert "caught" not in page.driver.title


@pytest.mark.parametrize(
    "address",
    ["#/queue", "#/queue?by=pod&search=hostile", "#/decisions?pod=default/hostile", "#/pods/default/hostile"],
)
def test_what_a_plugin_says_is_text_everywhere(page: Browser, address: str) -> None:
    page.go(address)
    assert_shown(page)


def test_what_a_plugin_says_is_text_in_its_decision(page: Browser, world: World) -> None:
    number = world.get("attempts", pod="default/hostile", limit=1)["attempts"][0]["number"]
    page.go(f"#/decisions/{number}")
    page.wait_for_element(".matrix tbody tr")
    for selector in (".words", ".rejecting", ".matrix tbody"):
        assert_shown(page, selector)


def test_what_a_plugin_says_is_text_in_a_trial(page: Browser) -> None:
    page.go("#/try")
    page.wait_for_element("textarea")
    document = pod("tried", annotations={"said": MARKUP})
    page.run("document.querySelector('main textarea').value = arguments[0]", json.dumps(document))
    page.click("main button.primary")
    page.wait_for_element(".verdict")
    assert_shown(page, ".trial .matrix tbody")


def test_names_of_every_kind_are_text(page: Browser) -> None:
    """Names that no API server would take; another one may."""
    said = f"{MARKUP} {CONTROLS}"
    shown = page.ask(
        """
        const [said] = given;
        const chips = await import("/dashboard/widgets/chips.js");
        const { suggestion } = await import("/dashboard/widgets/advice.js");
        const { failed } = await import("/dashboard/widgets/notice.js");
        const { Refused } = await import("/dashboard/core/api.js");
        const { NodeColumns } = await import("/dashboard/core/nodes.js");
        const { tipFor } = await import("/dashboard/map/tips.js");
        const nodes = new NodeColumns({
          names: [said], resources: [said], allocatable: { [said]: [2] }, requested: { [said]: [1] },
          unschedulable: [true], taints: [[said]], labelKeys: [said],
          labels: { [said]: { values: ["", said], codes: [1] } }, version: 1,
        });
        const tip = document.createElement("div");
        tip.append(...tipFor(nodes, 0, said).filter(Boolean));
        const pod = { namespace: said, name: said };
        const step = { delete: { kind: said, namespace: said, name: said } };
        const where = { kind: said, namespace: said, name: said, path: said };
        const made = [
          tip,
          chips.podLink(pod), chips.nodeLink(said), chips.tags([said]),
          chips.outcomeChip(said), chips.placeChip(said), failed(new Refused(404, said)),
          suggestion({ text: said, then: "fits", nodes: [said], change: [step], where }),
        ];
        document.querySelector("main").replaceChildren(...made);
        return made.map((each) => [each.textContent, each.querySelectorAll("img, script").length]);
        """,
        said,
    )
    for text, elements in shown:
        assert elements == 0
        assert MARKUP in text
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
