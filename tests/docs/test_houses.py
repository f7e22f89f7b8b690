"""The drawing of both houses in docs/inside.md is what the imports say."""

from __future__ import annotations

from tools.draw_houses import DOCUMENT, drawn


def test_the_drawing_is_true() -> None:
    text = DOCUMENT.read_text()
    assert drawn(text) == text, "run: python -m tools.draw_houses"
    assert "moorage_cluster_life -->" in text and "moorage_scheduler -->" in text
