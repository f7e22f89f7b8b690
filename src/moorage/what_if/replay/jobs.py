"""One replay as data: what goes in and what comes out, so that others can be asked to do it."""

from __future__ import annotations

from msgspec import Struct


class Job(Struct, frozen=True, kw_only=True, rename="camel"):
    """What to replay. It can be sent to other processes and machines; files are named, not held."""

    trace: str
    """The file."""
    config: str = ""
    """The text of a KubeSchedulerConfiguration; empty for the defaults."""
    plugins: tuple[str, ...] = ()
    """As --plugin takes them."""
    features: tuple[str, ...] = ()
    """As --with takes them."""
    nodes: str = ""
    """A file of Node objects to take the place of those of the trace; empty for those of the trace."""
    prices: tuple[tuple[str, float], ...] = ()
    """Prices of nodes per hour, by a label `key=value`; the first that matches."""
    seed: int = 0
    until: float | None = None
    """Seconds since 1970 after which nothing is replayed."""
    since: float | None = None
    """Pods that came before are there, but not measured."""


class History(Struct, frozen=True, kw_only=True, rename="camel"):
    """Figures over time: means in equal stretches of the measured time, at most some hundred."""

    times: tuple[float, ...] = ()
    """The middles of the stretches, in seconds since 1970."""
    pending: tuple[float, ...] = ()
    nodes_in_use: tuple[float, ...] = ()
    cost_per_hour: tuple[float, ...] = ()
    utilisation: dict[str, tuple[float, ...]] = {}
    """By resource, 0 to 1."""
    fragmentation: dict[str, tuple[float, ...]] = {}
    """By resource, 0 to 1."""


class Outcome(Struct, frozen=True, kw_only=True, rename="camel"):
    """What became of it; all figures are of those pods that came within the measured time."""

    pods: int
    placed: int
    never_placed: int
    pending_p50: float
    """Seconds from a pod's creation to its bind."""
    pending_p99: float
    preemptions: int
    nodes_in_use: float
    """Mean number of nodes with a pod, over time; pods of DaemonSets do not count."""
    fragmentation: float
    """Mean share of free resources that typical pods cannot use, over time, 0 to 1."""
    cost: float
    """Sum over nodes in use of price times hours."""
    utilisation: dict[str, float]
    """Mean share requested of each resource, over time, 0 to 1."""
    seconds: float
    """How long the replay took."""
    virtual_seconds: float = 0.0
    """How much time of the trace was measured."""
    fragmentation_of: dict[str, float] = {}
    """The same for each resource."""
    failed_plugins: dict[str, int] = {}
    """How often each plugin raised, or answered what it must not."""
    history: History = History()
