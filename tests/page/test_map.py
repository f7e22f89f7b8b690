"""The cluster map."""

from __future__ import annotations

from tests.page.browsing import DOWN, ENTER, RIGHT, Browser
from tests.page.world import World, pod

PIXELS = """
    const canvas = document.querySelector(".stage canvas");
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size
"""


def test_nodes_are_drawn_in_the_colours_of_their_usage(page: Browser, world: World) -> None:
    page.wait_for_element(".legend-marks li")
    page.wait("cells", lambda: page.run(PIXELS) > 5)
    nodes = world.get("nodes")
    assert f"{sum(nodes['unschedulable'])} cordoned" in page.text(".legend")
    tainted = sum(
        1
        for taints, cordoned in zip(nodes["taints"], nodes["unschedulable"], strict=True)
        if taints and not cordoned
    )
    assert f"{tainted} tainted" in page.text(".legend")


def test_the_keyboard_walks_the_nodes_and_opens_their_decisions(page: Browser, world: World) -> None:
    page.wait_for_element(".legend-marks li")
    page.run("document.querySelector('.stage').focus()")
    page.press(RIGHT, RIGHT, DOWN, "+", "+")
    page.wait_for_element(".tip")
    name = page.text(".tip strong")
    nodes = world.get("nodes")
    row = nodes["names"].index(name)
    assert f"{nodes['requested']['pods'][row]} of 110" in page.text(".tip")
    assert name in page.run("return document.querySelector('.map-view [role=status]').textContent")
    page.press(ENTER)
    page.wait(
        "the decisions of the node", lambda: page.driver.current_url.endswith(f"#/decisions?node={name}")
    )


def test_a_label_groups_the_nodes_and_stays_in_the_address(page: Browser) -> None:
    page.wait_for_element(".legend-marks li")
    before = page.run("return document.querySelector('.stage canvas').toDataURL()")
    script = """
        const control = [...document.querySelectorAll("main select")][1];
        control.value = arguments[0]; control.dispatchEvent(new Event("change"))"""
    page.run(script, "kubernetes.io/hostname")
    changed = "return document.querySelector('.stage canvas').toDataURL() !== arguments[0]"
    page.wait("another map", lambda: page.run(changed, before))
    page.driver.refresh()
    page.wait_for_element(".legend-marks li")
    page.wait(
        "the label",
        lambda: (
            page.run("return document.querySelectorAll('main select')[1].value") == "kubernetes.io/hostname"
        ),
    )


def test_a_placed_pod_changes_its_node_at_once(page: Browser, world: World) -> None:
    page.wait_for_element(".legend-marks li")
    page.wait_for_text("Live", "#connection")
    before = page.text(".legend-sum")
    world.create("/api/v1/namespaces/default/pods", pod("late", cpu="3"))
    page.wait("other usage", lambda: page.text(".legend-sum") != before)
    world.wait_until_quiet()
    page.go("#/pods/default/late")
    page.wait_for_text("placed", "main h1")
