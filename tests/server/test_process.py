"""Version and the metrics of every component."""

from __future__ import annotations

import re

from moorage import __version__
from moorage.config.feature_gates import FeatureGates
from moorage.process.instruments import Families
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


def test_how_often_the_lease_was_read_to_be_renewed() -> None:
    metrics = ProcessMetrics(lease_name="kube-scheduler", leads=lambda: True, slow_renewals=lambda: 3)
    assert 'leader_election_slowpath_total{name="kube-scheduler"} 3\n' in render([metrics.registry])


def test_features_and_versions() -> None:
    text = render([ProcessMetrics(gates=FeatureGates("GangScheduling=true,GenericWorkload=true")).registry])
    assert 'kubernetes_feature_enabled{name="GangScheduling",stage="ALPHA"} 1\n' in text
    assert 'kubernetes_feature_enabled{name="SchedulerQueueingHints",stage=""} 1\n' in text
    assert 'kubernetes_feature_enabled{name="WorkloadAwarePreemption",stage="ALPHA"} 0\n' in text
    assert 'version_info{binary="1.36.4",component="kube",emulation="1.36",min_compat="1.35"} 1\n' in text


def test_how_many_metrics_there_are() -> None:
    others = Families()
    others.counter("a_total", "[STABLE] a")
    others.gauge("b", "[STABLE] b")
    others.gauge("c", "c")
    text = render([ProcessMetrics(others=[others]).registry])
    assert 'registered_metrics_total{deprecated_version="",stability_level="STABLE"} 2\n' in text
    assert "hidden_metrics_total 0\n" in text


def test_what_the_system_tells() -> None:
    text = render([ProcessMetrics().registry])
    values = dict(re.findall(r"^(process_\w+) (\S+)$", text, re.MULTILINE))
    assert float(values["process_virtual_memory_max_bytes"]) > float(values["process_virtual_memory_bytes"])
    assert values.keys() >= {"process_network_receive_bytes_total", "process_network_transmit_bytes_total"}
