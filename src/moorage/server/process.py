"""The process as it shows itself: version, build, memory and cpu, whether it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Metric, ProcessCollector
from prometheus_client.registry import Collector

from moorage.version import build_info

_BUILD_LABELS = {
    "gitVersion": "git_version",
    "gitCommit": "git_commit",
    "gitTreeState": "git_tree_state",
    "buildDate": "build_date",
    "goVersion": "go_version",
}


class ProcessMetrics(Collector):
    """Metrics that every Kubernetes component has."""

    def __init__(self, *, lease_name: str = "", leads: Callable[[], bool] | None = None) -> None:
        """`leads` says whether this process holds the lease; without it there is no election."""
        self._lease_name = lease_name
        self._leads = leads
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def collect(self) -> Iterator[Metric]:
        build = Metric("kubernetes_build_info", "[ALPHA] The version of this process; always 1.", "gauge")
        build.add_sample(build.name, _build_labels(build_info()), 1)
        yield build
        if self._leads is not None:
            master = Metric(
                "leader_election_master_status",
                "[ALPHA] Whether this process holds the lease (1) or another does (0).",
                "gauge",
            )
            master.add_sample(master.name, {"name": self._lease_name}, int(self._leads()))
            yield master


def _build_labels(info: Mapping[str, str]) -> dict[str, str]:
    return {_BUILD_LABELS.get(key, key): value for key, value in info.items()}
