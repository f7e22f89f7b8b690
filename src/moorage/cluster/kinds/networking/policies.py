"""NetworkPolicies."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import KindStrategy, items_of, own_part, part
from moorage.cluster.schema.checking import Around, check_form, relates

_TYPES = ("Ingress", "Egress")


class NetworkPolicyStrategy(KindStrategy):
    type_name = "networking.v1.NetworkPolicy"

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        super().default(document)
        if not spec.get("policyTypes"):
            spec["policyTypes"] = list(_TYPES if spec.get("egress") else _TYPES[:1])

    def warnings(self, document: Document) -> list[str]:
        spec = part(document, "spec")
        return [
            text
            for rules, peers in (("ingress", "from"), ("egress", "to"))
            for rule, path in items_of(spec, rules, "spec")
            for peer, place in items_of(rule, peers, path)
            for value, field in _ranges(peer, f"{place}.ipBlock")
            for text in addresses.cidr_warnings(field, value)
        ]


def _ranges(peer: Document, path: str) -> Iterator[tuple[str, str]]:
    block = part(peer, "ipBlock")
    if "cidr" in block:
        yield block["cidr"], f"{path}.cidr"
    for index, value in enumerate(block.get("except") or ()):
        yield value, f"{path}.except[{index}]"


@relates("networking.v1.NetworkPolicyPort")
def _ports(port: Document, path: str, around: Around) -> Iterator[Cause]:
    first, last = port.get("port"), port.get("endPort")
    if isinstance(first, int):
        yield from check_form("port-number", first, f"{path}.port")
        if last is not None:
            if last < first:
                yield invalid_value(f"{path}.endPort", first, "must be greater than or equal to `port`")
            yield from check_form("port-number", last, f"{path}.endPort")
        return
    if last is not None:
        why = "not specified" if first is None else "non-numeric"
        yield invalid_value(f"{path}.endPort", last, f"may not be specified when `port` is {why}")
    if first is not None:
        yield from check_form("port-name", first, f"{path}.port")


@relates("networking.v1.NetworkPolicyPeer")
def _one_kind_of_peer(peer: Document, path: str, around: Around) -> Iterator[Cause]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if name in peer]
    if not given:
        yield errors.required(path, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        yield errors.forbidden_value(path, "may not specify both ipBlock and another peer")


@relates("networking.v1.NetworkPolicySpec")
def _policy_types(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    types = spec.get("policyTypes") or ()
    if len(types) > len(_TYPES):
        yield invalid_value(f"{path}.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, each in enumerate(types):
        if each not in _TYPES:
            yield errors.unsupported_value(f"{path}.policyTypes[{index}]", each, _TYPES)


@relates("networking.v1.IPBlock")
def _cidrs(block: Document, path: str, around: Around) -> Iterator[Cause]:
    whole = block.get("cidr", "")
    if not whole:
        yield errors.required(f"{path}.cidr")
        return
    problems = list(addresses.cidr(f"{path}.cidr", whole))
    yield from problems
    network = addresses.network(whole)
    if network is None:
        return
    for index, value in enumerate(block.get("except") or ()):
        field = f"{path}.except[{index}]"
        yield from addresses.cidr(field, value)
        inner = addresses.network(value)
        if inner is None:
            continue
        same_kind = inner.version == network.version
        inside = same_kind and ip_network((inner.network_address, network.prefixlen), strict=False) == network
        if not inside or inner.prefixlen <= network.prefixlen:
            yield invalid_value(field, value, "must be a strict subset of `cidr`")
