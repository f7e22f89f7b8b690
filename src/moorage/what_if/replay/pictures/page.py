"""One page with the figures and plots of replays, which needs nothing but itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from html import escape

from moorage.what_if.replay.comparing import Figure, Variant, duration
from moorage.what_if.replay.pictures.panels import Panel
from moorage.what_if.replay.pictures.svg import STYLES, draw
from moorage.what_if.trace.changes import Head

_LIGHT = ("#1f5fc4", "#b8500b", "#1b7f4b", "#8a3fb5", "#a8323f", "#5d6670")
_DARK = ("#7db0ff", "#ffab66", "#6fd6a0", "#d09bf2", "#ff8f9b", "#aab4bf")
_DASHES = ("none", "7 3", "2 3", "9 3 2 3", "none", "4 4")

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --faint: #5a636e; --grid: #dde2e8;
  --card: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14181d; --text: #e6eaef; --faint: #a0aab6; --grid: #333b45; --card: #1b2128; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.2rem 1rem 3rem; max-width: 62rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
h3 { font-size: 1rem; font-weight: 600; margin: 0 0 .3rem; overflow-wrap: anywhere; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .6rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--grid); }
thead th { color: var(--faint); font-weight: 600; }
tbody th { font-weight: 400; }
.plots { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; padding: .8rem; background: var(--card); border-radius: .5rem; }
.plot { display: block; width: 100%; height: auto; }
.grid { stroke: var(--grid); stroke-width: 1; }
.axis { stroke: var(--faint); stroke-width: 1; }
.tick { fill: var(--faint); font-size: 14px; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; margin: .4rem 0 .8rem; padding: 0;
  list-style: none; }
.legend svg { width: 2rem; height: .7rem; margin-right: .5rem; vertical-align: middle; }
@media (max-width: 34rem) {
  thead { position: absolute; left: -9999px; }
  tbody tr { display: block; border-bottom: 1px solid var(--grid); padding: .5rem 0; }
  tbody th, tbody td { display: block; border: 0; padding: 0; }
  tbody th { font-weight: 600; }
  tbody td::before { content: attr(data-of) ": "; color: var(--faint); }
}
"""


def page(head: Head, variants: Sequence[Variant], figures: Sequence[Figure], panels: Sequence[Panel]) -> str:
    """The document. The first variant is the one that the others are compared with."""
    return "\n".join(_lines(head, variants, figures, panels))


def _lines(
    head: Head, variants: Sequence[Variant], figures: Sequence[Figure], panels: Sequence[Panel]
) -> Iterator[str]:
    first, *others = variants
    title = f"Replay: {first.name}" + (
        f" against {', '.join(each.name for each in others)}" if others else ""
    )
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title>\n<style>{_STYLE}{_colours()}</style>\n</head>\n<body>"
    yield f"<h1>{escape(title)}</h1>"
    yield f'<p class="faint">{escape(_about(head, variants))}</p>'
    yield "<h2>Figures</h2>"
    yield from _table(variants, figures)
    yield "<h2>Over time</h2>"
    if len(variants) > 1:
        yield from _legend(variants)
    yield '<div class="plots">'
    for panel in panels:
        yield f"<figure><h3>{escape(panel.title)}</h3>\n{draw(panel)}\n</figure>"
    yield "</div>"
    if len(first.outcomes) > 1:
        yield '<p class="faint">The plots show the first seed.</p>'
    yield "</body>\n</html>\n"


def _about(head: Head, variants: Sequence[Variant]) -> str:
    outcomes = variants[0].outcomes
    began = time.strftime("%Y-%m-%d %H:%M", time.gmtime(head.began))
    seeds = f"; mean ± standard deviation of {len(outcomes)} seeds" if len(outcomes) > 1 else ""
    source = f" from {head.source}" if head.source else ""
    return f"A trace{source} of {duration(outcomes[0].virtual_seconds)}, begun {began} UTC{seeds}."


def _table(variants: Sequence[Variant], figures: Sequence[Figure]) -> Iterator[str]:
    first, *others = variants
    headings = [first.name]
    for other in others:
        headings += [other.name, f"difference to {other.name}" if len(others) > 1 else "difference"]
    yield '<div class="wide"><table>'
    cells = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    yield f'<thead><tr><th scope="col">figure</th>{cells}</tr></thead>\n<tbody>'
    for figure in figures:
        texts = [figure.show(first)]
        for other in others:
            texts += [figure.show(other), str(figure.difference(first, other))]
        cells = "".join(
            f'<td data-of="{escape(heading)}">{escape(text)}</td>'
            for heading, text in zip(headings, texts, strict=True)
        )
        yield f'<tr><th scope="row">{escape(figure.name)}</th>{cells}</tr>'
    yield "</tbody></table></div>"


def _legend(variants: Sequence[Variant]) -> Iterator[str]:
    yield '<ul class="legend">'
    for place, variant in enumerate(variants):
        line = f'<line class="line line-{place % STYLES}" x1="0" y1="5" x2="32" y2="5"/>'
        yield f'<li><svg viewBox="0 0 32 10" aria-hidden="true">{line}</svg>{escape(variant.name)}</li>'
    yield "</ul>"


def _colours() -> str:
    light, dark = (
        "\n".join(f".line-{place} {{ stroke: {colour}; }}" for place, colour in enumerate(colours))
        for colours in (_LIGHT, _DARK)
    )
    dashes = "\n".join(f".line-{place} {{ stroke-dasharray: {dash}; }}" for place, dash in enumerate(_DASHES))
    return f"{light}\n{dashes}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
