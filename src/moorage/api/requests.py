"""What pods ask for: the request of a pod computed from its containers, status and overhead.

Amounts are exact (nanos) while summing; :class:`Resources` holds them rounded up, cpu in millicores and
everything else in whole units, as 64-bit numbers. Where one does not fit, the sum is done again with amounts
that know how they overflow (:mod:`moorage.api.int64_quantities`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeAlias

from moorage.api import int64_quantities, quantities
from moorage.api.int64_quantities import MILLI, WHOLE, HeldQuantity
from moorage.api.meta import Quantity
from moorage.api.pods import Container, ContainerStatus, Pod, Quantities, restartable
from moorage.api.resources import BASIC, CPU, MEMORY, PODS, is_scalar

Exact: TypeAlias = dict[str, int]
"""Resource name to nanos."""

Read: TypeAlias = Callable[[Quantity], int]
"""Reads a quantity: nanos, or nanos that know how they overflow."""

_DEFAULTS: dict[str, Quantity] = {CPU: "100m", MEMORY: 200 * 1024 * 1024}
DEFAULT_REQUESTS: Exact = {name: quantities.parse(amount) for name, amount in _DEFAULTS.items()}
"""What a container without a request counts as having where scores are computed."""


class Resources(dict[str, int]):
    """Resource name to amount: cpu in millicores, all others in whole units. A missing name reads as 0.

        free = node.allocatable - node.requested
        if (pod.requests + other.requests).fits_in(free): ...
        total = sum((pod.requests for pod in node.pods), Resources())

    Those of pods and nodes are the scheduler's own: make a new one instead of changing them.
    """

    __slots__ = ()

    def __missing__(self, name: str) -> int:
        return 0

    def __add__(self, more: Mapping[str, int]) -> Resources:
        """The sum of each amount."""
        result = Resources(self)
        for name, amount in more.items():
            result[name] += amount
        return result

    def __sub__(self, less: Mapping[str, int]) -> Resources:
        """The difference of each amount, which may be negative."""
        result = Resources(self)
        for name, amount in less.items():
            result[name] -= amount
        return result

    def fits_in(self, free: Mapping[str, int]) -> bool:
        """Whether `free` has as much of everything that is asked for here; 0 fits even where nothing is left.

        How many pods a node takes is another question: compare `len(node.pods)` with `allocatable["pods"]`.
        """
        return all(amount <= free.get(name, 0) for name, amount in self.items() if amount > 0)


def parse_resources(amounts: Mapping[str, Quantity]) -> Resources:
    """Amounts as a manifest has them in the units of a scheduler: cpu in millicores, others in whole units.

        parse_resources({"cpu": "1500m", "memory": "1Gi"}) == {"cpu": 1500, "memory": 1073741824}

    Raises ValueError for what is not a quantity and for names that no scheduler counts.
    """
    for name, amount in amounts.items():
        if name not in (*BASIC, PODS) and not is_scalar(name):
            raise ValueError(
                f"{name}: no resource that a scheduler counts; use cpu, memory or a name as example.com/gpu"
            )
        try:
            quantities.parse_quantity(amount)
        except quantities.QuantityError as error:
            raise quantities.QuantityError(f"{name}: {error}") from None
    return allocatable(dict(amounts))


def pod_requests(
    pod: Pod,
    *,
    use_status: bool = False,
    pod_level: bool = True,
    defaults: Mapping[str, int] | None = None,
    read: Read = quantities.parse,
) -> Exact:
    """The exact request of a pod.

    `use_status` takes resized containers into account, `pod_level` lets requests of the pod replace those of
    its containers, `defaults` fills in names that a container does not mention.
    """
    spec = pod.spec
    statuses = _statuses(pod) if use_status else {}
    infeasible = use_status and _resize_is_infeasible(pod)
    total: Exact = {}
    for container in spec.containers:
        _add(total, _container_request(container, statuses, infeasible, defaults, read))
    sidecars: Exact = {}
    peak: Exact = {}
    for container in spec.init_containers:
        if restartable(container):
            request = _container_request(container, statuses, infeasible, defaults, read)
            _add(total, request)
            _add(sidecars, request)
            in_use = sidecars
        else:
            in_use = _container_request(container, {}, False, defaults, read)
            _add(in_use, sidecars)
        _raise_to(peak, in_use)
    _raise_to(total, peak)
    if pod_level:
        total.update(_pod_level(pod, use_status, infeasible, read))
    if spec.overhead:
        _add(total, _exact(spec.overhead, read))
    return total


def rounded(exact: Mapping[str, int]) -> Resources:
    """Keeps the names a scheduler counts and rounds each amount up.

    Raises OverflowError if one is negative or too large, unless amounts know how they overflow.
    """
    return Resources(
        (name, _in_units(amount, is_milli=name == CPU))
        for name, amount in exact.items()
        if name in BASIC or is_scalar(name)
    )


def _in_units(amount: int, *, is_milli: bool) -> int:
    if isinstance(amount, HeldQuantity):
        return amount.in_units(MILLI if is_milli else WHOLE)
    units = quantities.milli(amount) if is_milli else quantities.value(amount)
    if amount < 0 or units > quantities.MAX_INT64:
        raise OverflowError
    return units


class RequestSummary(NamedTuple):
    """All that is ever asked about the requests of a pod. Pods of one template share it: do not change it."""

    filter: Resources
    """What a node must have left for the pod to fit; never negative."""
    row: Resources
    """What the pod takes away on its node, resizes included."""
    nonzero: Resources
    """Cpu and memory the pod counts for in scores, with defaults for containers that ask for nothing."""
    scored: Resources
    """What the pod asks for when nodes are scored for it: defaults included, pod-level requests ignored."""


def request_summary(pod: Pod) -> RequestSummary:
    """The requests of a pod, computed once per template; raises QuantityError if one cannot be read."""
    cached: RequestSummary | None = pod.__dict__.get("_request_summary")
    if cached is None:
        template = _template(pod)
        cached = _summaries.get(template)
        if cached is None:
            if len(_summaries) >= _MOST_SUMMARIES:
                _summaries.clear()
            cached = _summaries[template] = _summarize(pod)
        pod.__dict__["_request_summary"] = cached
    return cached


_MOST_SUMMARIES = 16384
_summaries: dict[Hashable, RequestSummary] = {}


def _template(pod: Pod) -> Hashable:
    """The part of a pod that decides its requests."""
    spec, status = pod.spec, pod.status
    runs = status.container_statuses or status.init_container_statuses or status.resources is not None
    return (
        tuple([tuple(container.resources.requests.items()) for container in spec.containers]),
        tuple([(restartable(c), *c.resources.requests.items()) for c in spec.init_containers]),
        tuple(spec.overhead.items()),
        spec.resources and tuple(spec.resources.requests.items()),
        _granted(pod) if runs else None,
    )


def _granted(pod: Pod) -> Hashable:
    """What the status of a pod says about its requests, and about whose they are."""
    spec, status = pod.spec, pod.status
    return (
        tuple([container.name for container in spec.containers]),
        tuple([container.name for container in spec.init_containers]),
        tuple(map(_granted_one, status.container_statuses)),
        tuple(map(_granted_one, status.init_container_statuses)),
        status.resources and tuple(status.resources.requests.items()),
        tuple(status.allocated_resources.items()),
        _resize_is_infeasible(pod),
    )


def _granted_one(status: ContainerStatus) -> Hashable:
    if status.resources is None:
        return status.name
    return status.name, tuple(status.resources.requests.items()), tuple(status.allocated_resources.items())


def _summarize(pod: Pod) -> RequestSummary:
    try:
        return _summarize_with(pod, quantities.parse)
    except OverflowError:
        return _summarize_with(pod, int64_quantities.parse)


def _summarize_with(pod: Pod, read: Read) -> RequestSummary:
    wanted = rounded(pod_requests(pod, read=read))
    defaults = _exact(_DEFAULTS, read)
    return RequestSummary(
        filter=Resources((name, max(0, amount)) for name, amount in wanted.items()),
        row=rounded(pod_requests(pod, use_status=True, read=read)),
        nonzero=_nonzero(pod, defaults, read),
        scored=rounded(pod_requests(pod, pod_level=False, defaults=defaults, read=read)),
    )


def _nonzero(pod: Pod, defaults: Exact, read: Read) -> Resources:
    exact = pod_requests(pod, use_status=True, read=read)
    if has_pod_level_requests(pod):
        defaults = {name: amount for name, amount in defaults.items() if name not in exact}
    if defaults:
        exact = pod_requests(pod, use_status=True, defaults=defaults, read=read)
    return rounded({name: exact.get(name, 0) for name in (CPU, MEMORY)})


def filter_request(pod: Pod) -> Resources:
    """What a node must have left for the pod to fit; never negative."""
    return request_summary(pod).filter


def row_request(pod: Pod) -> Resources:
    """What a pod takes away on its node, resizes included."""
    return request_summary(pod).row


def has_pod_level_requests(pod: Pod) -> bool:
    resources = pod.spec.resources
    return resources is not None and any(_is_pod_level(name) for name in resources.requests)


def allocatable(amounts: Quantities) -> Resources:
    """A node's allocatable, rounded like requests; `pods` included."""
    try:
        return _allocatable(_exact(amounts, quantities.parse))
    except OverflowError:
        return _allocatable(_exact(amounts, int64_quantities.parse))


def _allocatable(exact: Exact) -> Resources:
    result = rounded(exact)
    if PODS in exact:
        result[PODS] = _in_units(exact[PODS], is_milli=False)
    return result


def _pod_level(pod: Pod, use_status: bool, infeasible: bool, read: Read) -> Exact:
    resources = pod.spec.resources
    if resources is None or not has_pod_level_requests(pod):
        return {}
    wanted = _exact(resources.requests, read)
    effective = wanted
    if use_status and pod.status.resources is not None:
        actuated = _exact(pod.status.resources.requests, read)
        granted = _exact(pod.status.allocated_resources, read)
        effective = _effective(wanted, actuated, granted, infeasible)
    nothing = read("0")
    return {name: effective.get(name, nothing) for name in wanted if _is_pod_level(name)}


def _is_pod_level(name: str) -> bool:
    return name in (CPU, MEMORY) or name.startswith("hugepages-")


def _container_request(
    container: Container,
    statuses: Mapping[str, ContainerStatus],
    infeasible: bool,
    defaults: Mapping[str, int] | None,
    read: Read,
) -> Exact:
    request = _exact(container.resources.requests, read)
    status = statuses.get(container.name)
    if status is not None and status.resources is not None:
        actuated = _exact(status.resources.requests, read)
        request = _effective(request, actuated, _exact(status.allocated_resources, read), infeasible)
    if defaults:
        for name, amount in defaults.items():
            request.setdefault(name, amount)
    return request


def _effective(wanted: Exact, actuated: Exact, allocated: Exact, infeasible: bool) -> Exact:
    """The most of what is wanted, running and granted; a resize that cannot happen is not counted."""
    most: Exact = {} if infeasible else dict(wanted)
    _raise_to(most, actuated)
    _raise_to(most, allocated)
    return most


def _resize_is_infeasible(pod: Pod) -> bool:
    condition = pod.condition("PodResizePending")
    return condition is not None and condition.reason == "Infeasible"


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    found: dict[str, ContainerStatus] = {}
    for status in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        found.setdefault(status.name, status)
    return found


def _exact(amounts: Quantities, read: Read) -> Exact:
    return {name: read(amount) for name, amount in amounts.items()}


def _raise_to(most: Exact, amounts: Mapping[str, int]) -> None:
    """The greater amount of each name; a missing one is not a zero, since an amount may be negative."""
    for name, amount in amounts.items():
        if name not in most:
            most[name] = amount
        elif amount > most[name]:
            if isinstance(amount, HeldQuantity):
                amount = amount.compared_with(most[name])
            most[name] = amount


def _add(total: Exact, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount
