"""Health checks by name, and the texts in which /healthz, /livez and /readyz answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from prometheus_client import Metric
from prometheus_client.registry import Collector

Check = Callable[[], str | None]
"""None if all is well, else what is wrong."""


class HealthReport(NamedTuple):
    healthy: bool
    text: str


def ping() -> str | None:
    """Is well whenever it can be asked."""
    return None


class HealthChecks:
    """The checks of one path, in the order in which they were given."""

    def __init__(self, name: str, **checks: Check) -> None:
        self.name = name
        self._checks = dict(checks)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        """How often a check ended in `success` or `error`."""
        self.last: dict[str, bool] = {}

    def add(self, name: str, check: Check) -> None:
        self._checks[name] = check

    def __contains__(self, name: object) -> bool:
        return name in self._checks

    def all(self, *, verbose: bool = False, exclude: Collection[str] = ()) -> HealthReport:
        """The answer of the path itself; why a check failed is only told by `one`."""
        lines: list[str] = []
        healthy = True
        for name in self._checks:
            if name in exclude:
                lines.append(f"[+]{name} excluded: ok")
            elif self._run(name) is None:
                lines.append(f"[+]{name} ok")
            else:
                lines.append(f"[-]{name} failed: reason withheld")
                healthy = False
        unknown = [f'"{name}"' for name in dict.fromkeys(exclude) if name not in self._checks]
        if unknown:
            lines.append(f"warn: some health checks cannot be excluded: no matches for {', '.join(unknown)}")
        if healthy and not verbose:
            return HealthReport(True, "ok")
        lines.append(f"{self.name} check {'passed' if healthy else 'failed'}")
        return HealthReport(healthy, "\n".join(lines) + "\n")

    def one(self, name: str) -> HealthReport:
        """The answer of a single check, at PATH/NAME."""
        problem = self._run(name)
        return (
            HealthReport(True, "ok")
            if problem is None
            else HealthReport(False, f"internal server error: {problem}\n")
        )

    def _run(self, name: str) -> str | None:
        try:
            problem = self._checks[name]()
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        self.last[name] = problem is None
        self.outcomes[name, "success" if problem is None else "error"] += 1
        return problem


class HealthMetrics(Collector):
    """What /metrics/slis shows: how the checks ended when they were asked."""

    def __init__(self, *paths: HealthChecks) -> None:
        self._paths = paths

    def collect(self) -> Iterator[Metric]:
        last = Metric("kubernetes_healthcheck", "[STABLE] Whether a health check is well.", "gauge")
        outcomes = Metric("kubernetes_healthchecks", "[STABLE] Results of health checks.", "counter")
        for path in self._paths:
            for name, well in path.last.items():
                last.add_sample(last.name, {"name": name, "type": path.name}, int(well))
            for (name, status), count in path.outcomes.items():
                labels = {"name": name, "status": status, "type": path.name}
                outcomes.add_sample("kubernetes_healthchecks_total", labels, count)
        yield last
        yield outcomes

    def reset(self) -> None:
        for path in self._paths:
            path.last.clear()
            path.outcomes.clear()
