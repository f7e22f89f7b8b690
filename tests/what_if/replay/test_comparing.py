"""Figures side by side, prices, and what a job names."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from moorage.what_if.replay.comparing import Figure, Variant, duration, figures
from moorage.what_if.replay.jobs import Outcome
from moorage.what_if.replay.prices import read_prices
from moorage.what_if.replay.setting_up import BadJob, read_nodes, set_up

OUTCOME = Outcome(
    pods=100,
    placed=90,
    never_placed=10,
    pending_p50=2.0,
    pending_p99=80.0,
    preemptions=3,
    nodes_in_use=12.5,
    fragmentation=0.25,
    cost=30.0,
    utilisation={"cpu": 0.5},
    seconds=1.0,
    fragmentation_of={"cpu": 0.25},
)


def figure(name: str) -> Figure:
    return next(each for each in figures(OUTCOME, has_prices=True) if each.name == name)


def variant(name: str, *changes: dict[str, float]) -> Variant:
    return Variant(name, [replace(OUTCOME, **change) for change in changes])


def test_differences_are_taken_seed_by_seed() -> None:
    """The figures vary by ten from seed to seed, the differences by one."""
    ours = variant("ours", {"cost": 20.0}, {"cost": 31.0}, {"cost": 39.0})
    base = variant("base", {"cost": 25.0}, {"cost": 35.0}, {"cost": 45.0})
    found = figure("cost").difference(ours, base)
    assert found.mean == pytest.approx(-5.0) and found.spread == pytest.approx(1.0)
    assert str(found) == "-5.00 ±1.00 (-14.3%)"
    assert figure("cost").show(base) == "35.00 ±10.00"


@pytest.mark.parametrize(
    ("name", "change", "shown"),
    [
        ("placed", {"placed": 95}, "+5 (+5.6%)"),
        ("never placed", {}, "same"),
        ("time to bind, p99", {"pending_p99": 20.0}, "-1m (-75.0%)"),
        ("fragmentation", {"fragmentation": 0.275}, "+2.5 points"),
        ("nodes in use", {"nodes_in_use": 10.0}, "-2.5 (-20.0%)"),
    ],
)
def test_differences_in_words(name: str, change: dict[str, float], shown: str) -> None:
    assert str(figure(name).difference(variant("ours", change), variant("base", {}))) == shown


def test_costs_are_told_where_there_are_prices() -> None:
    names = [each.name for each in figures(OUTCOME, has_prices=False)]
    assert "cost" not in names and "cpu requested" in names and "cpu of no use" in names


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (0.25, "0.2s"),
        (9.5, "9.5s"),
        (42, "42s"),
        (200, "3m20s"),
        (7500, "2h5m"),
        (356_400, "4d3h"),
    ],
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_prices(tmp_path: Path) -> None:
    assert read_prices("pool=spot=0.5") == [("pool=spot", 0.5)]
    assert read_prices("example.com/pool==2") == [("example.com/pool=", 2.0)]
    file = tmp_path / "prices.yaml"
    file.write_text("kind:\n  large: 1.5\n  small: 0.5\npool:\n  spot: 0.1\n")
    assert read_prices(str(file)) == [("kind=large", 1.5), ("kind=small", 0.5), ("pool=spot", 0.1)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pool=spot=cheap", "--price pool=spot=cheap: 'cheap' is no price per hour; give a number from 0 on"),
        ("pool=spot=-1", "'-1' is no price"),
        ("pool=spot=nan", "'nan' is no price"),
        ("nowhere.yaml", "--price nowhere.yaml: No such file or directory; write KEY=VALUE=PRICE"),
    ],
)
def test_wrong_prices(text: str, said: str) -> None:
    with pytest.raises(BadJob) as caught:
        read_prices(text)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["- a", "kind: 3", "kind:\n  large: dear", "[}"])
def test_wrong_files_of_prices(tmp_path: Path, text: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(BadJob, match=r"prices\.yaml: .*"):
        read_prices(str(file))


def test_nodes_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(
        "kind: List\nitems:\n- {kind: Node, metadata: {name: a}}\n"
        "---\nkind: Node\nmetadata: {name: b, uid: mine}\n"
    )
    assert [(node.name, node.uid) for node in read_nodes(file)] == [("a", "node-a"), ("b", "mine")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: Pod\nmetadata: {name: a}", "object 1 is Pod; give Nodes only"),
        ("- a", "object 1 is no Kubernetes object"),
        ("kind: Node", "Node 1 has no name"),
        ("kind: Node\nmetadata: {name: a}\n---\nkind: Node\nmetadata: {name: a}", "Node 2 a is given twice"),
        ("", "holds no Node"),
        ("{", "is no YAML"),
        ("kind: Node\nmetadata: {name: a}\nspec: 3", "a"),
    ],
)
def test_wrong_files_of_nodes(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(text)
    with pytest.raises(BadJob) as caught:
        read_nodes(file)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_what_a_job_is_done_with() -> None:
    config, registry = set_up("", features=["coscheduling"])
    assert "Coscheduling" in config.profiles[0].plugins.enabled_names()
    assert "NodeResourcesFit" in registry
    with pytest.raises(BadJob, match="--with: there is no 'gangs'; choose of capacity, coscheduling"):
        set_up("", features=["gangs"])
