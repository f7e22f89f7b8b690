"""The queue, stories, trials and comparisons: what the page asks and what it makes of the answers."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from tests.cli.running import run
from tests.page.browsing import Browser
from tests.page.world import PLUGIN, Document, World, pod

ROWS = """
    return [...document.querySelectorAll(".matrix tbody tr:not(.room)")].map((row) => [
        row.querySelector("th a").innerText, row.querySelector(".total").innerText.replaceAll("\\u2009", "")])
"""


def evaluated(world: World, document: Document, folder: Path) -> Document:
    """What `moorage evaluate` says of a pod on the cluster's state."""
    plugin = folder / "hostile.py"
    plugin.write_text(PLUGIN)
    cluster, tried = folder / "cluster.json", folder / "pod.json"
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": world.objects()}))
    tried.write_text(json.dumps(document))
    result = run("evaluate", "--cluster", cluster, "--pod", tried, "--plugin", plugin, "-o", "json")
    answer: Document = json.loads(result.stdout)
    return answer


def try_it(page: Browser, text: str) -> None:
    page.go("#/try")
    page.wait_for_element("textarea")
    page.run("document.querySelector('main textarea').value = arguments[0]", text)
    page.click("main button.primary")
    page.wait_for_element(".verdict")


def test_a_pod_that_fits_is_tried_as_evaluate_says(page: Browser, world: World, tmp_path: Path) -> None:
    document = pod("tried", cpu="1500m")
    expected = evaluated(world, document, tmp_path)
    try_it(page, yaml.safe_dump(document))
    feasible = expected["feasible"]
    assert page.text(".verdict").startswith(f"It fits, on {len(feasible)} nodes.")
    assert all(node in page.text(".verdict") for node in expected["best"][:5])
    page.click(".trial .bar fieldset:first-of-type label:nth-of-type(2) input")
    page.wait_for_text(f"{len(feasible)} of", ".trial .matrix-view .hint")
    rows = dict(page.run(ROWS))
    assert len(rows) > 10
    assert rows == {node: str(expected["totals"][node]) for node in rows}
    assert next(iter(rows)) in expected["best"]


def test_a_pod_that_does_not_fit_is_tried_as_evaluate_says(
    page: Browser, world: World, tmp_path: Path
) -> None:
    document = pod("tried", cpu="48", spec={"tolerations": [{"operator": "Exists", "key": "gpu"}]})
    expected = evaluated(world, document, tmp_path)
    assert expected["feasible"] == []
    try_it(page, json.dumps(document))
    assert page.text(".verdict") == "It fits nowhere."
    assert expected["message"] in page.text(".trial .message")
    assert page.text(".advice li").startswith("It would fit if ")
    page.fill("Search nodes", (rejected := sorted(expected["nodeStatus"])[0]))
    page.wait("one node", lambda: [name for name, _ in page.run(ROWS)] == [rejected])
    status = expected["nodeStatus"][rejected]
    assert page.text(".trial .why") == f"{status['plugin']} {'; '.join(status['reasons'])}"


def test_quick_fields_change_what_is_tried(page: Browser, world: World) -> None:
    page.go("#/try?pod=default/picky")
    page.wait_for_element("textarea")
    assert page.run("return document.querySelector('main textarea').disabled")
    page.click("main button.primary")
    page.wait_for_text("It fits nowhere.", ".verdict")
    gpus = [name for name, taints in zip(*nodes_and_taints(world), strict=True) if taints]
    page.fill("Node selector", f"kubernetes.io/hostname={gpus[0]}")
    page.fill("Tolerations", "gpu=true:NoSchedule")
    page.click("main button.primary")
    page.wait_for_text("It fits nowhere.", ".verdict")  # it still asks for disk=ssd
    page.fill("A pod that is there", "")
    page.run("document.querySelector('main input').dispatchEvent(new Event('input', { bubbles: true }))")
    page.click("main button.primary")
    page.wait_for_text(f"It fits, on 1 node. Best: {gpus[0]}", ".verdict")


def test_a_text_that_is_no_pod_is_refused_in_words(page: Browser) -> None:
    page.go("#/try")
    page.wait_for_element("textarea")
    for text, said in (
        ("a: [", "pod: "),
        ("- a\n- b", "not that of a pod"),
        ("", "There is no pod to try"),
        ("kind: Node\nmetadata: {name: a}", "its kind is 'Node'"),
    ):
        page.run("document.querySelector('main textarea').value = arguments[0]", text)
        page.click("main button.primary")
        page.wait_for_text(said, "main [role=alert]")
    problems = page.problems()
    assert all("400" in each for each in problems), problems


def test_the_queue_groups_pods_by_cause_and_says_what_helps(page: Browser, world: World) -> None:
    page.go("#/queue")
    page.wait_for_element(".cause")
    groups = world.get("pending")["groups"]
    assert page.texts(".cause-count b") == [str(group["count"]) for group in groups]
    named = [group["cause"] for group in groups if group["cause"].isprintable()]
    assert len(named) >= 3
    assert set(named) <= set(page.texts(".cause h2"))
    page.click("main button.primary")
    page.wait_for_text("One change that would free", ".best h2")


def test_waiting_pods_are_searched(page: Browser) -> None:
    page.go("#/queue?by=pod")
    page.wait_for_element("tbody tr")
    page.fill("Search", "picky")
    page.wait("one pod", lambda: page.texts("tbody td:first-child") == ["default/picky"])
    page.fill("Search", "nobody")
    page.wait_for_text("No waiting pod is like that.", "main")


def test_a_pods_story_has_its_attempts_and_advice(page: Browser, world: World) -> None:
    page.go("#/pods/default/picky")
    page.wait_for_element(".story li")
    story = world.get("pods/default/picky")
    assert len(page.texts(".story li")) == len(story["attempts"])
    assert page.text(".words p").startswith("Pending for ")
    page.wait_for_element(".advice li")
    page.click(".advice summary")
    assert '"operations"' in page.text(".advice pre")


def test_a_story_says_when_there_is_more_to_read(page: Browser, world: World) -> None:
    page.go("#/pods/default/picky")
    page.wait_for_element(".advice li")
    before = len(page.texts(".story li"))
    tainted = next(name for name, taints in zip(*nodes_and_taints(world), strict=True) if taints)
    world.patch_node(tainted, {"spec": {"taints": None}})
    page.wait_for_text("Tried again: read it", ".neighbours")
    page.click(".neighbours button")
    page.wait("one more attempt", lambda: len(page.texts(".story li")) > before)
    world.patch_node(tainted, {"spec": {"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]}})
    world.wait_until_quiet()


def nodes_and_taints(world: World) -> tuple[list[str], list[list[str]]]:
    nodes = world.get("nodes")
    return nodes["names"], nodes["taints"]


def test_a_second_configuration_shows_what_would_change(page: Browser, world: World) -> None:
    page.go("#/compare")
    page.click("main form button:not(.primary)")
    config = page.run("return document.querySelector('main textarea').value")
    page.click("main button.primary")
    page.wait_for_element(".verdict")
    expected = world.post("compare", {"config": config})
    assert page.text(".verdict").startswith(f"{len(expected['changes'])} of ")
    assert sorted(page.texts("tbody td:first-child")) == sorted(each["pod"] for each in expected["changes"])


def test_plugin_times_are_those_of_the_api(page: Browser, world: World) -> None:
    page.go("#/plugins")
    page.wait_for_element("tbody tr")
    expected = {
        (plugin["name"], point["point"])
        for plugin in world.get("plugins")["plugins"]
        for point in plugin["points"]
    }
    names = [name.removesuffix("yours").strip() for name in page.texts("tbody td:nth-child(1)")]
    assert set(zip(names, page.texts("tbody td:nth-child(2)"), strict=True)) == expected
