"""IPAddresses, which are given out, and ServiceCIDRs, the ranges they are from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import KindStrategy, WithStatus, part
from moorage.cluster.schema.checking import IMMUTABLE, Around, relates
from moorage.cluster.schema.definitions import keep_but

_FIELD = "spec.cidrs"


class IPAddressStrategy(KindStrategy):
    type_name = "networking.v1.IPAddress"

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        after, before = (part(each, "spec").get("parentRef") for each in (new, old))
        if after is not None and after != before:
            given = {"Group": "", "Resource": "", "Namespace": "", "Name": ""}
            shown = {name: after.get(name.lower(), absent) for name, absent in given.items()}
            yield invalid_value("spec.parentRef", shown, IMMUTABLE)


@relates("networking.v1.IPAddressSpec")
def _parent(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec.get("parentRef") is None:
        yield errors.required(f"{path}.parentRef")


class ServiceCIDRStrategy(WithStatus):
    type_name = "networking.v1.ServiceCIDR"

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate(self, document: Document) -> Iterator[Cause]:
        ranges = part(document, "spec").get("cidrs") or []
        if not ranges:
            yield errors.required(_FIELD, "at least one CIDR required")
        elif len(ranges) > 2:
            yield invalid_value(_FIELD, {"CIDRs": ranges}, "may only hold up to 2 values")
        else:
            for index, value in enumerate(ranges):
                yield from addresses.canonical_cidr(f"{_FIELD}[{index}]", value)
            families = {network.version for value in ranges if (network := addresses.network(value))}
            if len(ranges) == 2 and all(map(addresses.network, ranges)) and len(families) == 1:
                text = (
                    "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
                )
                yield invalid_value(_FIELD, ranges, text)

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        """A second range may be added; nothing else changes."""
        if subresource:
            return
        after, before = (part(each, "spec").get("cidrs") or [] for each in (new, old))
        if len(after) == len(before) or (len(before), len(after)) == (1, 2):
            for index, (value, known) in enumerate(zip(after, before, strict=False)):
                if value != known:
                    yield invalid_value(f"{_FIELD}[{index}]", value, IMMUTABLE)
            if len(after) != len(before):
                yield from self.validate(new)
        else:
            yield invalid_value(_FIELD, after, IMMUTABLE)
