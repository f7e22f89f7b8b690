"""What is wrong with a name, in the words of Kubernetes' API server. A valid one has no complaints."""

from __future__ import annotations

import re
from collections.abc import Callable

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME})?"

_MOST_OF_LABEL = 63
_MOST_OF_SUBDOMAIN = 253

_OF_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character"
)
_OF_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character"
)
_OF_LABEL_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_OF_NAME = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character"
)
_OF_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character"
)


def label(name: str) -> list[str]:
    complaints = _too_long(name, _MOST_OF_LABEL, "characters")
    if not re.fullmatch(_LABEL, name):
        if re.fullmatch(_SUBDOMAIN, name):
            complaints.append("must not contain dots")
        else:
            complaints.append(_explained(_OF_LABEL, _LABEL, "my-name", "123-abc"))
    return complaints


def subdomain(name: str, unit: str = "characters") -> list[str]:
    complaints = _too_long(name, _MOST_OF_SUBDOMAIN, unit)
    if not re.fullmatch(_SUBDOMAIN, name):
        complaints.append(_explained(_OF_SUBDOMAIN, _SUBDOMAIN, "example.com"))
    return complaints


def label_1035(name: str) -> list[str]:
    complaints = _too_long(name, _MOST_OF_LABEL, "characters")
    if not re.fullmatch(_LABEL_1035, name):
        complaints.append(_explained(_OF_LABEL_1035, _LABEL_1035, "my-name", "abc-123"))
    return complaints


def as_prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """Of a name to which something will be added, so that it may end with a dash.

    The dash and the byte before it are looked at as one letter.
    """

    def checked(name: str) -> list[str]:
        if len(name) > 1 and name.endswith("-"):
            name = name.encode(errors="surrogateescape")[:-2].decode(errors="surrogateescape") + "a"
        return check(name)

    return checked


def qualified_name(name: str) -> list[str]:
    explained = _explained(_OF_NAME, _NAME, "MyName", "my.name", "123-abc")
    *prefixes, last = name.split("/")
    if len(prefixes) > 1:
        return [
            f"a valid label key {explained} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    complaints = []
    for prefix in prefixes:
        found = subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
        complaints += [f"prefix part {complaint}" for complaint in found]
    if not last:
        complaints.append("name part must be non-empty")
    complaints += [f"name part {complaint}" for complaint in _too_long(last, _MOST_OF_LABEL, "bytes")]
    if not re.fullmatch(_NAME, last):
        complaints.append(f"name part {explained}")
    return complaints


def label_value(value: str) -> list[str]:
    complaints = _too_long(value, _MOST_OF_LABEL, "bytes")
    if not re.fullmatch(_VALUE, value):
        complaints.append(_explained(_OF_VALUE, _VALUE, "MyValue", "my_value", "12345"))
    return complaints


def _too_long(name: str, most: int, unit: str) -> list[str]:
    """Bytes are counted, whatever the complaint says."""
    return (
        [f"must be no more than {most} {unit}"] if len(name.encode(errors="surrogateescape")) > most else []
    )


def _explained(complaint: str, pattern: str, *examples: str) -> str:
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{complaint} (e.g. {listed}regex used for validation is '{pattern}')"
