"""What the log tells of decisions is what they were, whatever happened to the cluster since."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from moorage.insight.log.files import read_log
from moorage.insight.log.writing import LogFile
from tests.insight.log.witnesses import Witness, contrasts
from tests.twins.test_twins import CONFIGURATIONS, KINDS, REGISTRY, Course, courses, run
from tests.twins.world import World


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_the_log_is_that_of_the_decision(
    kind: str, soak: bool, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    followed = KINDS[kind]
    for name, bound in followed.bounds.items():
        monkeypatch.setattr(name, bound)
    monkeypatch.setattr("moorage.state.kept_rows._MOST_CHANGES", 7)

    @settings(max_examples=followed.many // 2 if soak else followed.few // 2)
    @given(courses(followed))
    def check(course: Course) -> None:
        log = Witness()
        path = tmp_path_factory.mktemp("log") / "decisions.log"
        file = LogFile(path, log)
        file.start()
        try:
            run(course, _world(course, log))
        finally:
            file.stop()
        _compare(log, path)

    check()


def _world(course: Course, log: Witness) -> World:
    return World(
        CONFIGURATIONS[course.config], REGISTRY, nodes=course.nodes, templates=course.templates, journal=log
    )


def _compare(log: Witness, path: Path) -> None:
    from_file = read_log(path)
    assert len(from_file) == len(log)
    for entry in log.entries():
        attempt, read = log.attempt(entry.number), from_file.attempt(entry.number)
        assert attempt is not None and read is not None
        if entry.number in log.truths:
            assert not contrasts(attempt, log.truths[entry.number])
        assert read.detail() == attempt.detail()
        assert read.matrix(limit=1000) == attempt.matrix(limit=1000)
        entry.seen.pack()
        assert attempt.matrix(limit=1000) == read.matrix(limit=1000)
