"""Names of signers of certificates: a domain and a path, such as `example.com/signer-name`."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.schema.forms import DNS_SUBDOMAIN_LIMIT, FORMS, size


def check_signer_name(name: str, field: str) -> Iterator[Cause]:
    """What is wrong with a name that is there."""
    domain, slash, rest = name.partition("/")
    if not slash or "/" in rest:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid_value(field, name, text)
        return
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
