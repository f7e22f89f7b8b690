"""Health checks: the texts of the paths and of single checks."""

from __future__ import annotations

from moorage.server.exposition import family_lines
from moorage.server.health import HealthChecks, HealthMetrics, ping


def broken() -> str:
    return "nodes are not synced"


def readyz() -> HealthChecks:
    checks = HealthChecks("readyz", ping=ping)
    checks.add("sched-handler-sync", broken)
    return checks


def test_all_well_is_ok() -> None:
    assert HealthChecks("healthz", ping=ping).all() == (True, "ok")


def test_without_checks_all_is_well() -> None:
    assert HealthChecks("readyz").all() == (True, "ok")


def test_verbose_names_every_check() -> None:
    answer = HealthChecks("healthz", ping=ping).all(verbose=True)
    assert answer == (True, "[+]ping ok\nhealthz check passed\n")


def test_a_failure_is_named_but_not_explained() -> None:
    text = "[+]ping ok\n[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
    assert readyz().all() == (False, text)


def test_an_excluded_check_is_not_asked() -> None:
    answer = readyz().all(verbose=True, exclude=["sched-handler-sync"])
    assert answer == (True, "[+]ping ok\n[+]sched-handler-sync excluded: ok\nreadyz check passed\n")


def test_excluding_what_does_not_exist_is_mentioned() -> None:
    text = HealthChecks("livez", ping=ping).all(verbose=True, exclude=["a", "b"]).text
    assert 'warn: some health checks cannot be excluded: no matches for "a", "b"\n' in text


def test_a_single_check_says_why_it_fails() -> None:
    assert readyz().one("sched-handler-sync") == (False, "internal server error: nodes are not synced\n")
    assert readyz().one("ping") == (True, "ok")


def test_a_check_that_raises_has_failed() -> None:
    def raises() -> None:
        raise ValueError("oh")

    checks = HealthChecks("livez", bad=raises)
    assert checks.one("bad") == (False, "internal server error: ValueError: oh\n")
    assert not checks.all().healthy


def test_results_are_counted() -> None:
    checks = readyz()
    checks.all()
    checks.one("ping")
    metrics = HealthMetrics(checks)
    lines = [line for family in metrics.collect() for line in family_lines(family)]
    assert 'kubernetes_healthcheck{name="ping",type="readyz"} 1\n' in lines
    assert 'kubernetes_healthcheck{name="sched-handler-sync",type="readyz"} 0\n' in lines
    assert 'kubernetes_healthchecks_total{name="ping",status="success",type="readyz"} 2\n' in lines
    metrics.reset()
    assert [sample for family in metrics.collect() for sample in family.samples] == []
