"""Whether a name is one Kubernetes accepts, and if not, why, in Kubernetes' own words.

Functions called `…_problems` return the complaints; an empty list means the name is fine. Where only yes or
no matters, those called `is_…` remember the answer.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_NAME})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"

_NAME_FORM = re.compile(_NAME)
_LABEL_VALUE_FORM = re.compile(_LABEL_VALUE)
_DNS_LABEL_FORM = re.compile(_DNS_LABEL)
_DNS_SUBDOMAIN_FORM = re.compile(_DNS_SUBDOMAIN)

_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_DNS_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)


def qualified_name_problems(name: str) -> list[str]:
    """For label keys and resource names: `name` or `dns.sub.domain/name`."""
    parts = name.split("/")
    if len(parts) > 2:
        rule = _ruled(_NAME_RULE, _NAME, "MyName", "my.name", "123-abc")
        prefix_hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {rule} {prefix_hint}"]
    problems = []
    if len(parts) == 2:
        if parts[0]:
            problems += [f"prefix part {problem}" for problem in dns_subdomain_problems(parts[0])]
        else:
            problems.append("prefix part must be non-empty")
    last = parts[-1]
    if not last:
        problems.append("name part must be non-empty")
    else:
        problems += [f"name part {problem}" for problem in _too_long(last, 63)]
    if not _NAME_FORM.fullmatch(last):
        problems.append(f"name part {_ruled(_NAME_RULE, _NAME, 'MyName', 'my.name', '123-abc')}")
    return problems


@lru_cache(maxsize=4096)
def is_qualified_name(name: str) -> bool:
    return not qualified_name_problems(name)


def label_value_problems(value: str) -> list[str]:
    problems = _too_long(value, 63)
    if not _LABEL_VALUE_FORM.fullmatch(value):
        problems.append(_ruled(_LABEL_VALUE_RULE, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return problems


@lru_cache(maxsize=4096)
def is_label_value(value: str) -> bool:
    return not label_value_problems(value)


def dns_label_problems(value: str) -> list[str]:
    problems = _too_long(value, 63)
    if not _DNS_LABEL_FORM.fullmatch(value):
        if _DNS_SUBDOMAIN_FORM.fullmatch(value):
            problems.append("must not contain dots")
        else:
            problems.append(_ruled(_DNS_LABEL_RULE, _DNS_LABEL, "my-name", "123-abc"))
    return problems


def dns_subdomain_problems(value: str) -> list[str]:
    problems = _too_long(value, 253)
    if not _DNS_SUBDOMAIN_FORM.fullmatch(value):
        problems.append(_ruled(_DNS_SUBDOMAIN_RULE, _DNS_SUBDOMAIN, "example.com"))
    return problems


def _too_long(value: str, limit: int) -> list[str]:
    size = len(value.encode(errors="surrogatepass"))  # text from a document need not be valid Unicode
    return [f"must be no more than {limit} bytes"] if size > limit else []


def _ruled(rule: str, form: str, *examples: str) -> str:
    shown = ",  or ".join(f"'{example}'" for example in examples)
    return f"{rule} (e.g. {shown}, regex used for validation is '{form}')"
