"""CertificateSigningRequests. Nobody signs them here unless somebody writes their status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import time

from moorage.cluster.base import errors
from moorage.cluster.base.certificates import certificates_problem
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.common import KindStrategy, difference, earlier, own_part, part
from moorage.cluster.schema.checking import Around, check, relates
from moorage.cluster.schema.definitions import keep_field

_STATUS = "certificates.v1.CertificateSigningRequestStatus"
_WHERE = "status.conditions"
_VERDICTS = ("Approved", "Denied")
_LASTING = (*_VERDICTS, "Failed")
_BEFORE = "before"


class CertificateSigningRequestStrategy(KindStrategy):
    type_name = "certificates.v1.CertificateSigningRequest"

    def __init__(self, now: Callable[[], str] = lambda: timestamp(time())) -> None:
        super().__init__()
        self._now = now

    def prepare_create(self, document: Document) -> None:
        document["status"] = {}

    def note_creator(self, document: Document, creator: Document) -> None:
        kept = {name: value for name, value in part(document, "spec").items() if name not in creator}
        document["spec"] = kept | {name: value for name, value in creator.items() if value}

    def prepare_change(self, new: Document, old: Document, subresource: str) -> None:
        """Only the status can change: conditions by those who approve, the rest by those who sign."""
        keep_field(new, old, "spec")
        if not subresource:
            keep_field(new, old, "status")
            return
        status, before = own_part(new, "status"), part(old, "status")
        if subresource == "status":
            for type_ in _VERDICTS:
                given, known = _of_type(status, type_), _of_type(before, type_)
                for condition, other in zip(given, known, strict=True) if len(given) == len(known) else ():
                    condition.clear()
                    condition.update(other)
        else:
            kept = {name: value for name, value in before.items() if name != "conditions"}
            conditions = status.get("conditions")
            status = new["status"] = kept | ({"conditions": conditions} if conditions else {})
        self._add_times(status, before)

    def _add_times(self, status: Document, before: Document) -> None:
        known = {(each.get("type"), each.get("status")): each for each in before.get("conditions") or ()}
        for condition in status.get("conditions") or ():
            since = known.get((condition.get("type"), condition.get("status")), {}).get("lastTransitionTime")
            condition["lastUpdateTime"] = condition.get("lastUpdateTime") or self._now()
            condition["lastTransitionTime"] = condition.get("lastTransitionTime") or since or self._now()

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        yield from super().validate(new)
        after, before = part(new, "status"), part(old, "status")
        yield from check(_STATUS, after, "status", {_BEFORE: before})
        given = after.get("certificate")
        changed = given != before.get("certificate")
        if changed and given and (problem := certificates_problem(given)):
            yield invalid_value("status.certificate", "<certificate data>", problem)
        for type_ in _LASTING:
            if len(_of_type(after, type_)) < len(_of_type(before, type_)):
                yield forbidden_value(_WHERE, f'updates may not remove a condition of type "{type_}"')
        if subresource != "approval":
            yield from _changed_verdicts(after, before)
        if changed and (subresource != "status" or before.get("certificate")):
            what = "modify existing" if subresource == "status" else "set"
            yield forbidden_value("status.certificate", f"updates may not {what} certificate content")


def _of_type(status: Document, type_: str) -> list[Document]:
    return [each for each in status.get("conditions") or () if each.get("type") == type_]


def _changed_verdicts(after: Document, before: Document) -> Iterator[Cause]:
    for type_ in _VERDICTS:
        new, old = _of_type(after, type_), _of_type(before, type_)
        if len(new) > len(old):
            yield forbidden_value(_WHERE, f'updates may not add a condition of type "{type_}"')
        elif len(new) == len(old) and new != old:
            told = f'updates may not modify a condition of type "{type_}"\n{difference(old, new)}'
            yield forbidden_value(_WHERE, told)


@relates("certificates.v1.CertificateSigningRequestCondition")
def _standing(condition: Document, path: str, around: Around) -> Iterator[Cause]:
    type_, value = condition.get("type", ""), condition.get("status", "")
    allowed = ("True",) if type_ in _LASTING else ("False", "True", "Unknown")
    if value and value not in allowed:
        yield errors.unsupported_value(f"{path}.status", value, allowed)
    seen = {each.get("type", "") for each in earlier(around[_STATUS].get("conditions"), condition)}
    both_before = all(_of_type(around[_BEFORE], each) for each in _VERDICTS)
    if type_ in _VERDICTS and seen.intersection(_VERDICTS) - {type_} and not both_before:
        yield invalid_value(_WHERE, type_, "Approved and Denied conditions are mutually exclusive")
    if type_ in seen:
        yield errors.duplicate_value(f"{path}.type", type_)
