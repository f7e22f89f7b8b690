"""Version and the metrics of every component."""

from __future__ import annotations

from moorage import __version__
from moorage.server.exposition import render
from moorage.server.process import ProcessMetrics
from moorage.version import build_info


def test_the_version_is_that_of_the_scheduler_it_stands_in_for() -> None:
    shown = build_info()
    assert (shown["major"], shown["minor"]) == ("1", "36")
    assert shown["gitVersion"] == f"v1.36.4+moorage.{__version__}"
    assert "/" in shown["platform"]


def test_build_and_process_metrics() -> None:
    text = render([ProcessMetrics().registry])
    assert f'git_version="v1.36.4+moorage.{__version__}"' in text
    assert "\nprocess_resident_memory_bytes " in text
    assert "leader_election_master_status{" not in text


def test_whether_it_leads() -> None:
    leading = [False]
    metrics = ProcessMetrics(lease_name="kube-scheduler", leads=lambda: leading[0])
    assert 'leader_election_master_status{name="kube-scheduler"} 0\n' in render([metrics.registry])
    leading[0] = True
    assert 'leader_election_master_status{name="kube-scheduler"} 1\n' in render([metrics.registry])
