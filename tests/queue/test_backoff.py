from __future__ import annotations

import pytest

from moorage.framework.queued_pod import QueuedPod
from moorage.queue.backoff import Backoff
from moorage.testing.builders import make_pod


def failed(times: int = 0, errors: int = 0, at: float = 1000.0) -> QueuedPod:
    queued = QueuedPod(make_pod(), at)
    queued.unschedulable_count = times
    queued.consecutive_errors = errors
    return queued


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(0, 0), (1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (6, 10), (7, 10), (40, 10), (70, 10), (5000, 10)],
)
def test_duration_doubles_up_to_the_longest(failures: int, seconds: float) -> None:
    assert Backoff(1, 10).duration(failures) == seconds


@pytest.mark.parametrize(
    ("initial", "longest", "failures", "seconds"),
    [
        (0.3, 1, 1, 0.3),
        (0.3, 1, 2, 0.6),
        (0.3, 1, 3, 1),
        (5, 5, 1, 5),
        (5, 5, 2, 5),
        (20, 10, 1, 10),
        (1, 8, 4, 8),
        (1, 7.999999999, 4, 7.999999999),
        (0, 10, 3, 0),
    ],
)
def test_duration_of_other_settings(initial: float, longest: float, failures: int, seconds: float) -> None:
    assert Backoff(initial, longest).duration(failures) == seconds


@pytest.mark.parametrize(
    ("queued", "expiry"),
    [
        (failed(times=1, at=1000.0), 1001),
        (failed(times=1, at=1000.999), 1001),
        (failed(times=3, at=1000.5), 1004),
        (failed(times=9, at=1000.5), 1010),
        (failed(times=4, errors=1, at=1000.5), 1001),
        (failed(errors=2, at=1000.0), 1002),
        (failed(times=1, at=1_753_000_000.999_999), 1_753_000_001),
    ],
)
def test_expiry_is_a_whole_second(queued: QueuedPod, expiry: float) -> None:
    assert Backoff(1, 10).expiry(queued) == expiry


def test_expiry_is_remembered_until_it_is_reset() -> None:
    backoff = Backoff(1, 10)
    queued = failed(times=1)
    assert backoff.expiry(queued) == 1001
    queued.unschedulable_count = 3
    assert backoff.expiry(queued) == queued.backoff_expiry == 1001
    queued.backoff_expiry = None
    assert backoff.expiry(queued) == 1004


@pytest.mark.parametrize(
    ("failed_at", "now", "is_on"),
    [
        (1000.0, 1000.0, True),
        (1000.0, 1001.0, True),
        (1000.0, 1001.999, True),
        (1000.0, 1002.0, False),
        (1000.999, 1001.999, True),
        (1000.999, 1002.0, False),
    ],
)
def test_a_second_of_backoff_lasts_one_to_two_seconds(failed_at: float, now: float, is_on: bool) -> None:
    assert Backoff(1, 10).is_on(failed(times=1, at=failed_at), now) is is_on


def test_a_pod_that_never_failed_does_not_back_off() -> None:
    for now in (0.0, 0.5, 1000.0):
        assert not Backoff(1, 10).is_on(failed(at=now), now)


@pytest.mark.parametrize(
    ("hung", "seconds"), [(0, 1), (1, 10), (2, 20), (3, 40), (5, 160), (6, 300), (7, 300), (5000, 300)]
)
def test_after_a_plugin_hung_the_pauses_are_longer(hung: int, seconds: float) -> None:
    queued = failed(errors=1)
    queued.hung_attempts = hung
    assert Backoff(1, 10).expiry(queued) == 1000 + seconds
