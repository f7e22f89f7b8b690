"""CertificateSigningRequests. Nobody signs them here unless somebody writes their status."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator
from time import time

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.common import KindStrategy, difference, own_part, part, repeated
from moorage.cluster.schema.checking import Around, relates
from moorage.cluster.schema.definitions import keep_field
from moorage.cluster.schema.forms import DNS_SUBDOMAIN_LIMIT, FORMS, size

_LEGACY = "kubernetes.io/legacy-unknown"
_VERDICTS = ("Approved", "Denied")
_LASTING = (*_VERDICTS, "Failed")
_REQUEST, _CERTIFICATE = "CERTIFICATE REQUEST", "CERTIFICATE"
_WHERE = "status.conditions"
_STATUSES = ("False", "True", "Unknown")


class CertificateSigningRequestStrategy(KindStrategy):
    type_name = "certificates.v1.CertificateSigningRequest"

    def __init__(self, now: Callable[[], str] = lambda: timestamp(time())) -> None:
        super().__init__()
        self._now = now

    def prepare_create(self, document: Document) -> None:
        document["status"] = {}

    def note_creator(self, document: Document, creator: Document) -> None:
        spec = own_part(document, "spec")
        for name, value in creator.items():
            spec.pop(name, None)
            if value:
                spec[name] = value

    def prepare_change(self, new: Document, old: Document, subresource: str) -> None:
        """Only the status can change: conditions by those who approve, the rest by those who sign."""
        keep_field(new, old, "spec")
        if not subresource:
            keep_field(new, old, "status")
            return
        status = own_part(new, "status")
        if subresource == "status":
            _keep_verdicts(status, part(old, "status"))
        self._add_times(status, part(old, "status"))
        if subresource == "approval":
            conditions = {"conditions": status["conditions"]} if status.get("conditions") else {}
            kept = {name: value for name, value in part(old, "status").items() if name != "conditions"}
            new["status"] = kept | conditions

    def _add_times(self, status: Document, before: Document) -> None:
        known = {(each.get("type"), each.get("status")): each for each in before.get("conditions") or ()}
        for condition in status.get("conditions") or ():
            earlier = known.get((condition.get("type"), condition.get("status")), {})
            if condition.get("lastUpdateTime") is None:
                condition["lastUpdateTime"] = self._now()
            if condition.get("lastTransitionTime") is None:
                condition["lastTransitionTime"] = earlier.get("lastTransitionTime") or self._now()

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        yield from super().validate(new)
        after, before = part(new, "status"), part(old, "status")
        yield from _conditions(after, before)
        changed = after.get("certificate") != before.get("certificate")
        if changed and (problem := _certificate_problem(after.get("certificate", ""))):
            yield invalid_value("status.certificate", "<certificate data>", problem)
        yield from _lost_verdicts(after, before)
        if subresource != "approval":
            yield from _changed_verdicts(after, before)
        if changed and subresource != "status":
            yield forbidden_value("status.certificate", "updates may not set certificate content")
        elif changed and before.get("certificate"):
            yield forbidden_value("status.certificate", "updates may not modify existing certificate content")


def _of_type(status: Document, type_: str) -> list[Document]:
    return [each for each in status.get("conditions") or () if each.get("type") == type_]


def _keep_verdicts(status: Document, before: Document) -> None:
    """Those that are there on both sides are as they were."""
    for type_ in _VERDICTS:
        new, old = _of_type(status, type_), _of_type(before, type_)
        if len(new) == len(old):
            for condition, known in zip(new, old, strict=True):
                condition.clear()
                condition.update(known)


def _conditions(status: Document, before: Document) -> Iterator[Cause]:
    conditions = status.get("conditions") or []
    both_before = all(_of_type(before, type_) for type_ in _VERDICTS)
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        type_, value, path = condition.get("type", ""), condition.get("status", ""), f"{_WHERE}[{index}]"
        allowed = ("True",) if type_ in _LASTING else _STATUSES
        if not type_:
            yield errors.required(f"{path}.type")
        if not value:
            yield errors.required(f"{path}.status")
        elif value not in allowed:
            yield errors.unsupported_value(f"{path}.status", value, allowed)
        if type_ in _VERDICTS and not both_before and seen & (set(_VERDICTS) - {type_}):
            yield invalid_value(_WHERE, type_, "Approved and Denied conditions are mutually exclusive")
        seen.add(type_)
    for index, type_ in repeated(each.get("type", "") for each in conditions):
        yield errors.duplicate_value(f"{_WHERE}[{index}].type", type_)


def _lost_verdicts(after: Document, before: Document) -> Iterator[Cause]:
    for type_ in _LASTING:
        if len(_of_type(after, type_)) < len(_of_type(before, type_)):
            yield forbidden_value(_WHERE, f'updates may not remove a condition of type "{type_}"')


def _changed_verdicts(after: Document, before: Document) -> Iterator[Cause]:
    for type_ in _VERDICTS:
        new, old = _of_type(after, type_), _of_type(before, type_)
        if len(new) > len(old):
            yield forbidden_value(_WHERE, f'updates may not add a condition of type "{type_}"')
        elif len(new) == len(old) and new != old:
            told = f'updates may not modify a condition of type "{type_}"\n{difference(old, new)}'
            yield forbidden_value(_WHERE, told)


@relates("certificates.v1.CertificateSigningRequestSpec")
def _request(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

    text = spec.get("request") or ""
    problem = ""
    if not _is_pem(text, _REQUEST):
        problem = f"PEM block type must be {_REQUEST}"
    else:
        try:
            if not x509.load_pem_x509_csr(base64.b64decode(text)).is_signature_valid:
                problem = "x509: certificate signature is not valid"
        except (ValueError, InvalidSignature, UnsupportedAlgorithm):
            problem = "asn1: structure error: the request cannot be read"
    if problem:
        yield invalid_value(f"{path}.request", text or None, problem)


@relates("certificates.v1.CertificateSigningRequestSpec")
def _signer_name(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    field, name = f"{path}.signerName", spec.get("signerName", "")
    domain, slash, rest = name.partition("/")
    if name == _LEGACY:
        yield invalid_value(field, name, "the legacy signerName is not allowed via this API version")
    elif not name:
        yield errors.required(field)
    elif not slash or "/" in rest:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value(field, name, text)
    else:
        if size(domain) > DNS_SUBDOMAIN_LIMIT:
            yield errors.too_long(field, DNS_SUBDOMAIN_LIMIT)
        yield from _labels(domain, "dns-label", field)
        if "." not in domain:
            text = "should be a domain with at least two segments separated by dots"
            yield invalid_value(field, domain, text)
        yield from _labels(rest, "dns-subdomain", field)


def _labels(segment: str, form: str, field: str) -> Iterator[Cause]:
    """What is wrong with the first part that is not in order."""
    for label in segment.split("."):
        if problems := FORMS[form](label):
            for problem in problems:
                yield invalid_value(field, segment, f'validating label "{label}": {problem}')
            return


def _is_pem(text: str, kind: str) -> bool:
    try:
        return f"-----BEGIN {kind}-----".encode() in base64.b64decode(text)
    except ValueError:
        return False


def _certificate_problem(text: str) -> str:
    from cryptography import x509

    if not text:
        return ""
    if not _is_pem(text, _CERTIFICATE):
        return f"must contain at least one {_CERTIFICATE} PEM block"
    try:
        x509.load_pem_x509_certificates(base64.b64decode(text))
    except ValueError:
        return "x509: malformed certificate"
    return ""
