"""The process as it shows itself: version, features, memory and cpu, whether it leads."""

from __future__ import annotations

import re
import resource
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from prometheus_client import ProcessCollector

from moorage.config.feature_gates import FeatureGates
from moorage.process.instruments import Families
from moorage.version import KUBERNETES_VERSION, build_info

_UNLIMITED = 2**64 - 1  # as the Go client shows it
_NETWORK = Path("/proc/self/net/netstat")


class ProcessMetrics(Families):
    """Metrics that every Kubernetes component has."""

    def __init__(
        self,
        *,
        gates: FeatureGates | None = None,
        lease_name: str = "",
        leads: Callable[[], bool] | None = None,
        slow_renewals: Callable[[], int] = lambda: 0,
        others: Sequence[Families] = (),
    ) -> None:
        """`leads` says whether this process holds the lease; without it there is no election.

        `others` is what else is exported.
        """
        super().__init__()
        self._lease = (lease_name,)
        self._leads = leads
        self._slow_renewals = slow_renewals
        gates = gates or FeatureGates()
        build = {re.sub("([A-Z])", r"_\1", key).lower(): value for key, value in build_info().items()}
        self.gauge("kubernetes_build_info", "[BETA] The version of this process; always 1.", tuple(build))[
            tuple(build.values())
        ] = 1
        self.gauge(
            "version_info",
            "[ALPHA] The versions that this process stands for; always 1.",
            ("component", "binary", "emulation", "min_compat"),
        )["kube", KUBERNETES_VERSION, str(gates.emulated), str(gates.oldest_component)] = 1
        features = self.gauge(
            "kubernetes_feature_enabled", "[BETA] Whether a feature gate is on.", ("name", "stage")
        )
        for gate in gates.all():
            features[gate.name, gate.stage] = int(gate.enabled)
        self._master = self.gauge(
            "leader_election_master_status",
            "[ALPHA] Whether this process holds the lease (1) or another does (0).",
            ("name",),
        )
        self._slow = self.counter(
            "leader_election_slowpath_total",
            "[ALPHA] Renewals of the lease that had to read it first.",
            ("name",),
        )
        self._received = self.counter(
            "process_network_receive_bytes_total", "Bytes received, by all that share the network."
        )
        self._sent = self.counter(
            "process_network_transmit_bytes_total", "Bytes sent, by all that share the network."
        )
        self._most_memory = self.gauge(
            "process_virtual_memory_max_bytes", "Virtual memory that the process may have."
        )
        self.counter("disabled_metrics_total", "[BETA] Metrics that are switched off; there are none.")
        self.counter("hidden_metrics_total", "[BETA] Metrics that are hidden as deprecated; there are none.")
        registered = self.counter(
            "registered_metrics_total",
            "[BETA] Metrics that there are, by stability.",
            ("stability_level", "deprecated_version"),
        )
        for level, count in Counter(level for each in (self, *others) for level in each.stability()).items():
            registered[level, ""] = count
        ProcessCollector(registry=self.registry)

    def read(self) -> None:
        if self._leads is not None:
            self._master[self._lease] = int(self._leads())
            self._slow[self._lease] = self._slow_renewals()
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        self._most_memory[()] = _UNLIMITED if limit == resource.RLIM_INFINITY else limit
        octets = _network_octets()
        self._received[()], self._sent[()] = octets.get("InOctets", 0), octets.get("OutOctets", 0)


def _network_octets() -> dict[str, int]:
    """The counters of IP; none where the system does not tell."""
    try:
        lines = [line.split() for line in _NETWORK.read_text().splitlines() if line.startswith("IpExt:")]
    except OSError:
        return {}
    names, values = lines
    return dict(zip(names[1:], map(int, values[1:]), strict=True))
