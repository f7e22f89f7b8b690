"""Draws a panel as SVG: axes, a grid, and a line for each variant."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from moorage.what_if.replay.pictures.panels import Panel, number, ticks, time_axis

WIDTH, HEIGHT = 420, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 54, 16, 12, 40

STYLES = 6
"""How many lines can be told apart: `line-0` and so on are for the page to colour."""


def draw(panel: Panel) -> str:
    """An `svg` element without colours of its own."""
    hours = max((line.hours[-1] for line in panel.lines if line.hours), default=0.0)
    unit, unit_name = time_axis(hours)
    longest = hours / unit or 1.0
    across = [value for value in ticks(0.0, longest) if value <= longest]
    up = ticks(0.0, max((max(line.values) for line in panel.lines if line.values), default=1.0) or 1.0)
    frame = _Frame(longest, up[-1])
    parts = [
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(_told(panel))}">',
        *(frame.level(value, number(value, is_share=panel.is_share)) for value in up),
        *(frame.moment(value, f"{value:g}") for value in across),
        frame.unit(unit_name),
    ]
    for place, line in enumerate(panel.lines):
        points = [
            frame.point(hour / unit, value) for hour, value in zip(line.hours, line.values, strict=True)
        ]
        parts.append(f'<polyline class="line line-{place % STYLES}" points="{" ".join(points)}"/>')
    return "\n".join([*parts, "</svg>"])


class _Frame:
    """Where values lie in the picture."""

    def __init__(self, across: float, up: float) -> None:
        self._across = (WIDTH - _LEFT - _RIGHT) / across
        self._up = (HEIGHT - _TOP - _BOTTOM) / up

    def x(self, value: float) -> float:
        return _LEFT + value * self._across

    def y(self, value: float) -> float:
        return HEIGHT - _BOTTOM - value * self._up

    def point(self, across: float, up: float) -> str:
        return f"{self.x(across):.1f},{self.y(up):.1f}"

    def level(self, value: float, text: str) -> str:
        y = self.y(value)
        right = WIDTH - _RIGHT
        return (
            f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
            f'<text class="tick" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{escape(text)}</text>'
        )

    def moment(self, value: float, text: str) -> str:
        x, low = self.x(value), HEIGHT - _BOTTOM
        return (
            f'<line class="axis" x1="{x:.1f}" y1="{low}" x2="{x:.1f}" y2="{low + 4}"/>'
            f'<text class="tick" x="{x:.1f}" y="{low + 17}" text-anchor="middle">{escape(text)}</text>'
        )

    def unit(self, name: str) -> str:
        x = (_LEFT + WIDTH - _RIGHT) / 2
        return f'<text class="tick" x="{x:.0f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(name)}</text>'


def _told(panel: Panel) -> str:
    """What the picture shows, for those who cannot see it."""
    return f"{panel.title} over time; means: " + ", ".join(
        f"{line.name} {number(_mean(line.values), is_share=panel.is_share)}" for line in panel.lines
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
