"""Runs the plugins that judge where a whole gang would go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from moorage.framework.placements import PlacedGroup, PlacementScorePlugin
from moorage.framework.runtime.answers import WrongAnswer
from moorage.framework.runtime.calls import Question, ask
from moorage.framework.runtime.scoring import MAX_SCORE
from moorage.framework.status import Status

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

_POINT = "PlacementScore"

Judges = Sequence[tuple[PlacementScorePlugin, int]]
"""Plugins with their weights."""


def judge(profile: Profile, judges: Judges, groups: Sequence[PlacedGroup]) -> list[int] | Status:
    """The weighted sum of all scores for each of the placements, or what went wrong."""
    totals = [0] * len(groups)
    for plugin, weight in judges:
        scores = _scores(profile, plugin, groups)
        if isinstance(scores, Status):
            return Status.error(
                f'running PlacementScore plugins: plugin "{plugin.name}" failed with: {scores.message}'
            ).by(plugin.name)
        totals = [total + weight * score for total, score in zip(totals, scores, strict=True)]
    return totals


def _scores(
    profile: Profile, plugin: PlacementScorePlugin, groups: Sequence[PlacedGroup]
) -> list[int] | Status:
    found: list[int] = []
    for group in groups:
        score = ask(_SCORE, profile, plugin, False, plugin.score_placement, group)
        if isinstance(score, Status):
            return score
        found.append(score)
    return ask(_to_normalize(len(groups)), profile, plugin, False, plugin.normalize, found)


def _whole_number(score: object) -> int:
    if isinstance(score, int | np.integer) and not isinstance(score, bool | np.bool_):
        return int(score)
    raise WrongAnswer(f"score_placement returned {type(score).__name__} {score!r}, use a whole number")


def _to_normalize(size: int) -> Question[list[int]]:
    def checked(scores: object) -> list[int]:
        if not isinstance(scores, list) or len(scores) != size:
            raise WrongAnswer(f"normalize returned no list of {size} scores, one for each placement")
        for score in scores:
            if not 0 <= _whole_number(score) <= MAX_SCORE:
                raise WrongAnswer(
                    f"score_placement returned {score}, use 0 to {MAX_SCORE}, or write normalize"
                )
        return scores

    return Question(_POINT, checked)


_SCORE = Question(_POINT, _whole_number)
