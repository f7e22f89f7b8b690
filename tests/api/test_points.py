"""Whoever has something for every extension point has it for those of the table, and for no other."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

import moorage
from moorage.api.points import POINTS
from moorage.cli.scaffold.snippets import SNIPPETS
from moorage.config.types import Plugins
from moorage.framework import extension_points
from moorage.framework.extension_points import BASES

SERVED = [key for key, point in POINTS.items() if not point.is_read_only]
DOCS = Path(__file__).parents[2] / "docs" / "extension-points"


def test_a_configuration_has_a_plugin_set_for_each() -> None:
    fields = [field.encode_name for field in msgspec.structs.fields(Plugins)]
    assert fields == ["multiPoint", *POINTS]


def test_each_is_checked_in_its_turn() -> None:
    assert sorted(point.checked for point in POINTS.values()) == list(range(len(POINTS)))


def test_each_that_is_served_has_a_base_class_which_is_public() -> None:
    assert list(BASES) == SERVED
    assert len(extension_points._TO_WRITE) == len(SERVED)
    for key, base in BASES.items():
        assert getattr(moorage, POINTS[key].interface) is base


def test_each_that_is_served_can_be_made_new_and_is_documented() -> None:
    assert list(SNIPPETS) == SERVED
    pages = {re.sub("[A-Z]", lambda found: f"-{found[0].lower()}", key) for key in SERVED}
    # That of a feature which is off by default is for gangs of all kinds here.
    assert {page.stem for page in DOCS.glob("*.md")} == pages | {"placement-score"}
