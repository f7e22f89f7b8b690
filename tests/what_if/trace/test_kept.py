"""What a trace leaves out, no decision needs."""

from __future__ import annotations

import pytest

from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.trace.kept import kept
from tests.golden.compare import differences
from tests.what_if.trace.scenarios import SUBJECTS, decided, scenarios, with_objects


@pytest.mark.parametrize("subject", [*SUBJECTS, "config"])
def test_what_is_left_out_decides_nothing(subject: str, soak: bool) -> None:
    registry = in_tree_registry()
    tried = 0
    for scenario in scenarios(subject, soak):
        whole, trimmed = (decided(each, registry) for each in (scenario, with_objects(scenario, kept)))
        assert differences(whole, trimmed) == []
        tried += 1
    assert tried > 10
