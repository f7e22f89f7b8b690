"""Plots, and the page that has them."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from moorage.testing import make_node
from moorage.what_if.replay.comparing import Variant, figures
from moorage.what_if.replay.pictures.page import page
from moorage.what_if.replay.pictures.panels import Line, Panel, number, panels, ticks, time_axis
from moorage.what_if.replay.pictures.png import write_png
from moorage.what_if.replay.pictures.svg import HEIGHT, WIDTH, draw
from moorage.what_if.trace.changes import Head
from tests.page.browsing import browser, missing
from tests.what_if.replay.traces import BEGAN, Recording, Replayed
from tools.check_page import is_required

NAMES = ("ours.yaml", "<b>base</b> & others.yaml")


def variants() -> list[Variant]:
    recording = Recording(make_node("n", cpu=4, labels={"kind": "large"}), make_node("m", cpu=4))
    for number_of_pod in range(6):
        at = 600 * number_of_pod
        recording.pod(f"p{number_of_pod}", at, bound=at, gone=at + 5000, cpu=2)
    trace = recording.trace(until=12_000)
    return [
        Variant(name, [Replayed(trace, seed=seed, prices=[("kind=large", 2.0)]).outcome for seed in seeds])
        for name, seeds in zip(NAMES, ((1, 2), (3, 4)), strict=True)
    ]


def make_page() -> str:
    found = variants()
    drawn = panels(found, BEGAN, has_prices=True)
    return page(
        Head(began=BEGAN, source="a test"), found, figures(found[0].outcomes[0], has_prices=True), drawn
    )


class Elements(HTMLParser):
    """Which elements are open, and what they point to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.addresses += [value or "" for name, value in attributes if name in ("href", "src", "xlink:href")]
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    text = make_page()
    elements = Elements()
    elements.feed(text)
    assert not elements.open and not elements.addresses
    assert "script" not in elements.seen and "b" not in elements.seen
    assert not re.search(r"https?://|url\(|@import", text)
    assert "&lt;b&gt;base&lt;/b&gt; &amp; others.yaml" in text
    assert elements.seen.count("figure") == 5  # pending, nodes, cpu, fragmentation, cost
    assert "prefers-color-scheme: dark" in text


def test_lines_stay_within_the_picture_and_begin_and_end_where_the_values_do() -> None:
    hours = [0.5 + step for step in range(10)]
    drawn = draw(Panel("what", False, [Line("a", hours, [float(step) for step in range(10)])]))
    (points,) = re.findall(r'points="([^"]*)"', drawn)
    places = [tuple(map(float, point.split(","))) for point in points.split()]
    assert len(places) == 10
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    assert [x for x, _ in places] == sorted(x for x, _ in places)
    assert [y for _, y in places] == sorted((y for _, y in places), reverse=True)
    assert "means: a 4.5" in drawn


def test_nothing_to_draw_is_drawn_as_nothing() -> None:
    assert "polyline" in draw(Panel("nothing", True, [Line("a", [], [])]))
    assert "polyline" in draw(Panel("zeros", True, [Line("a", [1.0, 2.0], [0.0, 0.0])]))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 12, [0, 5, 10, 15]),
        (0, 0.37, [0, 0.1, 0.2, 0.3, 0.4]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (0, 0, [0, 1]),
    ],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == pytest.approx(expected)


def test_axes_have_units_that_suit_them() -> None:
    assert [time_axis(hours)[1] for hours in (0.05, 2, 24, 24 * 30)] == [
        "seconds",
        "minutes",
        "hours",
        "days",
    ]
    assert [number(0.25, is_share=True), number(12_500, is_share=False), number(3, is_share=False)] == [
        "25%",
        "12.5k",
        "3",
    ]


def test_the_plots_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "plots.png"
    write_png(str(file), panels(variants(), BEGAN, has_prices=True), "Replay")
    assert file.read_bytes().startswith(b"\x89PNG") and file.stat().st_size > 10_000


def test_the_page_fits_a_phone_in_light_and_dark(tmp_path: Path) -> None:
    if lacking := missing():
        if is_required():
            pytest.fail(f"no browser: {lacking}")
        pytest.skip(f"no browser: {lacking}")
    file = tmp_path / "report.html"
    file.write_text(make_page(), "utf-8")
    with browser() as window:
        window.problems()
        for scheme in ("light", "dark"):
            window.colours(scheme)
            window.size(360, 800)
            window.open(file.as_uri())
            width = window.run("return document.documentElement.scrollWidth")
            assert width <= 360
            text, back = (
                _brightness(window.run(f"return getComputedStyle(document.body).{what}"))
                for what in ("color", "backgroundColor")
            )
            assert (text < 80 and back > 200) if scheme == "light" else (text > 200 and back < 80)
            letters = "return document.querySelector('.tick').getBoundingClientRect().height"
            assert window.run(letters) > 9
        assert window.problems() == []


def _brightness(colour: str) -> float:
    parts = [int(part) for part in re.findall(r"\d+", colour)[:3]]
    return sum(parts) / 3
