"""Solutions of a search as they are written into claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from moorage.api.devices import (
    AllocatedConfiguration,
    AllocationResult,
    DeviceAllocationResult,
    DeviceResult,
    ResourceClaim,
)
from moorage.api.quantity_texts import canonical_text
from moorage.api.selectors import IN, NodeSelector, NodeSelectorTerm, Requirement
from moorage.plugins.devices.allocation.failures import AllocationFailed
from moorage.plugins.devices.allocation.requests import Alternative, Prepared, Request
from moorage.plugins.devices.allocation.tentative import Pick

_FROM_CLASS = "FromClass"
_FROM_CLAIM = "FromClaim"


class Plan(NamedTuple):
    """What a claim would get on a node."""

    claim: ResourceClaim
    allocation: AllocationResult
    chosen: dict[str, int]
    """For each request with alternatives the place of the one that was met."""

    @property
    def document(self) -> dict[str, Any]:
        """As `status.allocation` is written to the API; without a time."""
        return self.allocation.document

    @property
    def devices(self) -> tuple[str, ...]:
        """`request: driver/pool/device`, in the order in which they were picked."""
        return tuple(
            f"{each.request}: {each.driver}/{each.pool}/{each.device}" + " (admin)" * each.admin_access
            for each in self.allocation.devices.results
        )


def plans(
    prepared: Prepared, picks: Sequence[Sequence[Pick]], node_name: str, new_share_id: Callable[[], str]
) -> list[Plan]:
    """One for each claim, in order; raises AllocationFailed."""
    return [
        _plan(
            claim,
            [request for request in prepared.requests if request.claim == number],
            picks[number],
            node_name,
            new_share_id,
        )
        for number, claim in enumerate(prepared.claims)
    ]


def _plan(
    claim: ResourceClaim,
    requests: list[Request],
    picks: Sequence[Pick],
    node_name: str,
    new_share_id: Callable[[], str],
) -> Plan:
    by_request = {pick.alternative.request: pick.alternative for pick in picks}
    met = [by_request.get(request.name, request.alternatives[0]) for request in requests]
    devices = DeviceAllocationResult(
        tuple(_result(pick, new_share_id) for pick in picks),
        (*_from_classes(met), *_from_claim(claim, met)),
    )
    try:
        node_selector = _node_selector(picks, node_name)
    except _TooManyTerms as error:
        raise AllocationFailed(f"create NodeSelector for claim {claim.name}: {error}") from None
    chosen = {
        request.name: request.alternatives.index(alternative)
        for request, alternative in zip(requests, met, strict=True)
        if request.is_choice
    }
    return Plan(claim, AllocationResult(devices, node_selector), chosen)


def _result(pick: Pick, new_share_id: Callable[[], str]) -> DeviceResult:
    alternative, candidate = pick.alternative, pick.candidate
    driver, pool, name = candidate.id
    amounts = pick.consumption
    return DeviceResult(
        request=alternative.name,
        driver=driver,
        pool=pool,
        device=name,
        admin_access=alternative.admin,
        tolerations=alternative.tolerations,
        binding_conditions=candidate.device.binding_conditions,
        binding_failure_conditions=candidate.device.binding_failure_conditions,
        share_id=None if amounts is None else new_share_id(),
        consumed_capacity={name: canonical_text(amount.written) for name, amount in (amounts or {}).items()},
    )


def _from_classes(met: list[Alternative]) -> Iterator[AllocatedConfiguration]:
    """The configuration of each class once, for all requests that name the class."""
    names: dict[str, list[str]] = {}
    for alternative in met:
        names.setdefault(alternative.device_class.name, []).append(alternative.name)
    for alternative in met:
        requests = names.pop(alternative.device_class.name, None)
        if requests is not None:
            for config in alternative.device_class.spec.config:
                yield AllocatedConfiguration(_FROM_CLASS, tuple(requests), config.opaque)


def _from_claim(claim: ResourceClaim, met: list[Alternative]) -> Iterator[AllocatedConfiguration]:
    """The claim's own configuration; what names several requests is repeated for each of them."""
    for config in claim.spec.devices.config:
        entry = AllocatedConfiguration(_FROM_CLAIM, config.requests, config.opaque)
        if not config.requests:
            yield entry
        for each in met:
            if each.request in config.requests or each.name in config.requests:
                yield entry


class _TooManyTerms(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(f"unsupported ResourceSlice.NodeSelector with {number} terms")


def _node_selector(picks: Sequence[Pick], node_name: str) -> NodeSelector | None:
    """The nodes that can use all of the devices: what their selectors ask for, all together."""
    expressions: list[Requirement] = []
    fields: list[Requirement] = []
    for pick in picks:
        candidate = pick.candidate
        if candidate.is_tied:
            name = Requirement("metadata.name", IN, (node_name,))
            return NodeSelector((NodeSelectorTerm(match_fields=(name,)),))
        terms = () if candidate.node_selector is None else candidate.node_selector.node_selector_terms
        if len(terms) > 1:
            raise _TooManyTerms(len(terms))
        for term in terms:
            _add_new(fields, term.match_fields)
            _add_new(expressions, term.match_expressions)
    if not fields and not expressions:
        return None
    return NodeSelector((NodeSelectorTerm(tuple(expressions), tuple(fields)),))


def _add_new(requirements: list[Requirement], more: tuple[Requirement, ...]) -> None:
    for new in more:
        if not any(
            (known.key, known.operator, set(known.values)) == (new.key, new.operator, set(new.values))
            for known in requirements
        ):
            requirements.append(new)
