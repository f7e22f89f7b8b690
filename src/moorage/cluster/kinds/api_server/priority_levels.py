"""PriorityLevelConfigurations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.api_server.flow_control import FlowControlStrategy, changed_spec
from moorage.cluster.schema.checking import Around, check, relates

_MOST_ENTROPY = 60  # bits
_OF_OLD_VERSIONS = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"


class PriorityLevelStrategy(FlowControlStrategy):
    type_name = "flowcontrol.v1.PriorityLevelConfiguration"


@relates("flowcontrol.v1.PriorityLevelConfigurationSpec")
def _level(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    level = around["flowcontrol.v1.PriorityLevelConfiguration"]
    name, kind = level["metadata"].get("name", ""), spec.get("type", "")
    if _OF_OLD_VERSIONS in (level["metadata"].get("annotations") or {}):
        yield forbidden_value("metadata.annotations", f"annotation '{_OF_OLD_VERSIONS}' is forbidden")
    if (name == "exempt") != (kind == "Exempt"):
        yield invalid_value(f"{path}.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    limited, exempt = spec.get("limited"), spec.get("exempt")
    if kind == "Exempt":
        if limited is not None:
            yield forbidden_value(f"{path}.limited", "must be nil if the type is not Limited")
        yield from check("flowcontrol.v1.ExemptPriorityLevelConfiguration", exempt, f"{path}.exempt")
    elif kind == "Limited":
        if exempt is not None:
            yield forbidden_value(f"{path}.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield errors.required(f"{path}.limited", "must not be empty when type is Limited")
        yield from check("flowcontrol.v1.LimitedPriorityLevelConfiguration", limited, f"{path}.limited")
    elif not kind:
        yield errors.required(f"{path}.type")
    else:
        yield errors.unsupported_value(f"{path}.type", kind, ("Exempt", "Limited"))
    free = "exempt" if name == "exempt" else ""
    yield from changed_spec("PriorityLevelConfiguration", name, spec, path, free)


@relates("flowcontrol.v1.LimitResponse")
def _queuing(response: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    if kind == "Reject" and queuing is not None:
        yield forbidden_value(f"{path}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue" and queuing is None:
        text = "must not be empty if limited.limitResponse.type is Limited"
        yield errors.required(f"{path}.queuing", text)


@relates("flowcontrol.v1.QueuingConfiguration")
def _hand_size(queuing: Document, path: str, around: Around) -> Iterator[Cause]:
    queues, hand, field = queuing.get("queues", 0), queuing.get("handSize", 0), f"{path}.handSize"
    if hand <= 0:
        yield invalid_value(field, hand, "must be positive")
    elif hand > queues:
        yield invalid_value(field, hand, f"should not be greater than queues ({queues})")
    elif math.ceil(math.log2(queues) * hand) > _MOST_ENTROPY:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than"
        yield invalid_value(field, hand, f"{text} {_MOST_ENTROPY}")
