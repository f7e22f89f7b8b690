"""Requests made ready for the search: checked, with their classes, and `All` with its list of devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from moorage.api.devices import (
    ALL,
    EXACT_COUNT,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
)
from moorage.api.taints import Toleration
from moorage.plugins.devices.allocation.candidates import Candidate
from moorage.plugins.devices.allocation.capacity import Amount, consumption, fits, read_amount
from moorage.plugins.devices.allocation.constraints import constraint
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.pools import NodePools, State
from moorage.plugins.devices.allocation.selecting import Asked, Selection, Selectors, is_selected

MOST_RESULTS = 32
"""So many devices a claim can have."""

Classes: TypeAlias = Callable[[str], DeviceClass | None]


class Alternative(NamedTuple):
    """What a request asks for, or one of its sub-requests: one way in which it can be met."""

    claim: int
    request: str
    """The request's name; constraints know a sub-request by it, too."""
    name: str
    """As results and constraints have it: `request` or `request/sub-request`."""
    bare_name: str
    """As errors have it: the name of the sub-request alone."""
    device_class: DeviceClass
    selection: Selection
    admin: bool
    tolerations: tuple[Toleration, ...]
    capacity: Mapping[str, Amount]
    constraints: tuple[int, ...]
    """Which of the claim's constraints apply."""
    needed: int
    offers: tuple[Candidate, ...] | None
    """In mode `All` the devices it has to have, all of them."""


class Request(NamedTuple):
    claim: int
    name: str
    alternatives: tuple[Alternative, ...]
    is_choice: bool
    """Whether it was written as `firstAvailable`."""


class Prepared(NamedTuple):
    """All requests of all claims, in order."""

    claims: tuple[ResourceClaim, ...]
    requests: tuple[Request, ...]


def asks_for_all(claims: Sequence[ResourceClaim]) -> bool:
    """Whether what is asked for depends on the node."""
    return any(
        each.allocation_mode == ALL
        for claim in claims
        for request in claim.spec.devices.requests
        for each in asked_of(request)
    )


class Preparation:
    """Makes requests ready, for all nodes or, where one asks for all devices, for one node at a time."""

    def __init__(
        self, classes: Classes, selectors: Selectors, in_use: DevicesInUse, pools: NodePools | None
    ) -> None:
        self._classes = classes
        self._selectors = selectors
        self._in_use = in_use
        self._pools = pools

    def prepare(self, claims: Sequence[ResourceClaim]) -> Prepared:
        """Raises AllocationFailed for the first mistake."""
        requests: list[Request] = []
        for number, claim in enumerate(claims):
            of_claim = [self._request(number, claim, request) for request in claim.spec.devices.requests]
            least = sum(min(each.needed for each in request.alternatives) for request in of_claim)
            if least > MOST_RESULTS:
                raise AllocationFailed(
                    f"claim {claim.key}: number of requested devices {least} "
                    f"exceeds the claim limit of {MOST_RESULTS}"
                )
            for place, described in enumerate(claim.spec.devices.constraints):
                if constraint(described) is None:
                    raise AllocationFailed(
                        f"claim {claim.key}, constraint #{place}: "
                        "empty constraint (unsupported constraint type?)"
                    )
            requests += of_claim
        return Prepared(tuple(claims), tuple(requests))

    def _request(self, number: int, claim: ResourceClaim, request: DeviceRequest) -> Request:
        alternatives = tuple(self._alternative(number, claim, request, each) for each in asked_of(request))
        return Request(number, request.name, alternatives, bool(request.first_available))

    def _alternative(
        self,
        number: int,
        claim: ResourceClaim,
        request: DeviceRequest,
        asked: ExactDeviceRequest | DeviceSubRequest,
    ) -> Alternative:
        name = bare_name = request.name
        admin = False
        if isinstance(asked, DeviceSubRequest):
            bare_name = asked.name
            name = f"{request.name}/{asked.name}"
        else:
            admin = asked.admin_access
        where = f"claim {claim.key}, request {bare_name}"
        own = _selection(asked.selectors, f"claim {claim.key}: selector", f"{where}, selector")
        if not asked.device_class_name:
            raise AllocationFailed(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes(asked.device_class_name)
        if device_class is None:
            raise AllocationFailed(
                f"{where}: could not retrieve device class {asked.device_class_name}: "
                f'deviceclass.resource.k8s.io "{asked.device_class_name}" not found'
            )
        of_class = f"class {device_class.name}: selector"
        alternative = Alternative(
            claim=number,
            request=request.name,
            name=name,
            bare_name=bare_name,
            device_class=device_class,
            selection=(*_selection(device_class.spec.selectors, of_class, of_class), *own),
            admin=admin,
            tolerations=asked.tolerations,
            capacity=_capacity(asked),
            constraints=tuple(
                place
                for place, each in enumerate(claim.spec.devices.constraints)
                if not each.requests or request.name in each.requests or name in each.requests
            ),
            needed=asked.count,
            offers=None,
        )
        if asked.allocation_mode == ALL:
            offers = tuple(self._all_for(alternative, where))
            return alternative._replace(needed=len(offers), offers=offers)
        if asked.allocation_mode != EXACT_COUNT:
            raise AllocationFailed(f"{where}: unsupported count mode {asked.allocation_mode}")
        return alternative

    def _all_for(self, alternative: Alternative, where: str) -> list[Candidate]:
        """All devices that are meant, in use or not; shared ones only if there is room for this request."""
        assert self._pools is not None
        offers = []
        for pool in self._pools.pools:
            if pool.state is not State.USABLE:
                problem = "being updated" if pool.state is State.INCOMPLETE else "invalid"
                raise AllocationFailed(
                    f"{where}: asks for all devices, but resource pool {pool.name} is currently {problem}"
                )
            offers += [each for each in pool.candidates if self._is_meant(alternative, each)]
        return offers

    def _is_meant(self, alternative: Alternative, candidate: Candidate) -> bool:
        assert self._pools is not None
        if not is_selected(self._selectors, alternative.selection, candidate):
            return False
        if candidate.per_device and not self._pools.reach(candidate):
            return False
        taken = consumption(candidate.capacities, alternative.capacity)
        consumed = self._in_use.consumed.get(candidate.id)
        return taken is not None and fits(taken, candidate.capacities, consumed, None)


def asked_of(request: DeviceRequest) -> tuple[ExactDeviceRequest | DeviceSubRequest, ...]:
    return request.first_available or (request.exactly or ExactDeviceRequest(),)


def _selection(selectors: tuple[DeviceSelector, ...], where: str, unknown: str) -> Selection:
    for place, selector in enumerate(selectors):
        if selector.cel is None:
            raise AllocationFailed(f"{unknown} #{place}: CEL expression empty (unsupported selector type?)")
    return tuple(
        Asked(selector.cel.expression, f"{where} #{place}")
        for place, selector in enumerate(selectors)
        if selector.cel is not None
    )


def _capacity(asked: ExactDeviceRequest | DeviceSubRequest) -> dict[str, Amount]:
    requests = {} if asked.capacity is None else asked.capacity.requests
    return {name: read_amount(quantity) for name, quantity in requests.items()}
