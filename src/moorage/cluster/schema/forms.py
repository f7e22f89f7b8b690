"""Whether texts in objects have the form the API asks of them, and if not, why.

Every function returns the complaints, in the API server's words; an empty list means the text is fine.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from moorage.api import names, quantities

Form = Callable[[Any], list[str]]

DNS_SUBDOMAIN_LIMIT = 253

_MOST = quantities.MAX_INT64 * quantities.NANOS
_SYSCTL = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_PORT_CHARACTERS = re.compile("[-a-z0-9]+")
_LETTER = re.compile("[a-z]")
LEADING_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_LEADING_ZERO = re.compile(r"(^|[.:])0+[0-9]")


def _pattern(pattern: str, text: str, limit: int = 0) -> Form:
    """For texts that match a pattern, which the complaint shows, and have a limit, or none."""
    form, complaint = re.compile(pattern), text.replace("PATTERN", pattern)

    def problems(value: str) -> list[str]:
        found = too_long(value, limit) if limit else []
        return found if form.fullmatch(value) else [*found, complaint]

    return problems


def dns_label_problems(value: str) -> list[str]:
    return _in_characters(names.dns_label_problems(value))


def dns_subdomain_problems(value: str) -> list[str]:
    return _in_characters(names.dns_subdomain_problems(value))


def _only_if(holds: Callable[[Any], bool], complaint: str) -> Form:
    return lambda value: [] if holds(value) else [complaint]


def nanos(quantity: Any) -> int:
    """A quantity that has passed the schema as a number of nanos, within what 64 bits hold in whole units."""
    try:
        amount = quantities.parse(quantity)
    except quantities.QuantityError:
        return 0
    return max(-_MOST, min(amount, _MOST))


non_empty_problems = _only_if(bool, "field can not be empty.")
unpadded_problems = _only_if(
    lambda value: bool(value == value.strip()), "must not have leading or trailing whitespace"
)
no_slash_problems = _only_if(lambda value: "/" not in value, "must not contain '/'")
address_pairs_problems = _only_if(
    lambda value: all(pair.count(":") == 1 or "]:" in pair for pair in value.split(",")),
    "must be a host:port pair or multiple pairs separated by commas",
)
no_backsteps_problems = _only_if(lambda value: ".." not in value.split("/"), "must not contain '..'")
absolute_path_problems = _only_if(lambda value: bool(value.startswith("/")), "must be an absolute path")
quantity_problems = _only_if(lambda value: nanos(value) >= 0, "must be greater than or equal to 0")
positive_quantity_problems = _only_if(lambda value: nanos(value) > 0, "must be greater than zero")
must_be_positive_problems = _only_if(lambda value: nanos(value) > 0, "must be positive")
file_mode_problems = _only_if(
    lambda value: 0 <= value <= 0o777, "must be a number between 0 and 0777 (octal), both inclusive"
)
sysctl_problems = _only_if(
    lambda value: size(value) <= DNS_SUBDOMAIN_LIMIT and bool(re.fullmatch(_SYSCTL, value)),
    f"must have at most {DNS_SUBDOMAIN_LIMIT} characters and match regex ^{_SYSCTL}$",
)
dns_subdomain_with_underscores_problems = _pattern(
    rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*",
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'PATTERN')",
    DNS_SUBDOMAIN_LIMIT,
)
wildcard_dns_subdomain_problems = _pattern(
    r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
    "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. "
    "'*.example.com', regex used for validation is 'PATTERN')",
    DNS_SUBDOMAIN_LIMIT,
)


def dns_subdomain_or_wildcard_problems(value: str) -> list[str]:
    return wildcard_dns_subdomain_problems(value) if "*" in value else dns_subdomain_problems(value)


http_path_problems = _pattern(
    r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", "Invalid path (regex used for validation is 'PATTERN')"
)
dns_1035_label_problems = _pattern(
    "[a-z]([-a-z0-9]*[a-z0-9])?",
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
    "validation is 'PATTERN')",
    63,
)
percent_problems = _pattern(
    "[0-9]+%",
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex "
    "used for validation is 'PATTERN')",
)
header_name_problems = _pattern(
    "[-A-Za-z0-9]+",
    "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used "
    "for validation is 'PATTERN')",
)
_config_key_pattern = _pattern(
    "[-._a-zA-Z0-9]+",
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
    "'KEY_NAME',  or 'key-name', regex used for validation is 'PATTERN')",
    DNS_SUBDOMAIN_LIMIT,
)
_environment_pattern = _pattern(
    "[ -<>-~]*",
    "a valid environment variable name must consist only of printable ASCII characters other than '='",
)


def path_segment_problems(value: str) -> list[str]:
    """For names that may be anything that fits between two slashes of an address."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in value]


def port_name_problems(value: str) -> list[str]:
    problems = too_long(value, 15)
    if not _PORT_CHARACTERS.fullmatch(value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _LETTER.search(value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def port_number_problems(value: int) -> list[str]:
    return range_problems(value, 1, 65535)


def port_problems(value: int | str) -> list[str]:
    """A port by number or by name."""
    return port_name_problems(value) if isinstance(value, str) else port_number_problems(value)


def range_problems(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def environment_name_problems(value: str) -> list[str]:
    return _environment_pattern(value) if value else ["environment variable name must be non-empty"]


def config_key_problems(value: str) -> list[str]:
    problems = _config_key_pattern(value)
    if value in (".", ".."):
        problems.append(f"must not be '{value}'")
    elif value.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def int_or_any_percent_problems(value: int | str) -> list[str]:
    if isinstance(value, str):
        return percent_problems(value)
    return ["must be greater than or equal to 0"] if value < 0 else []


def int_or_percent_problems(value: int | str) -> list[str]:
    """Not negative, and not more than all."""
    problems = int_or_any_percent_problems(value)
    if isinstance(value, str) and not problems and int(value[:-1][:1000]) > 100:
        problems.append("must not be greater than 100%")
    return problems


def ip_problems(value: str) -> list[str]:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        if _LEADING_ZERO.search(value) and _is_ip(_LEADING_ZERO.sub(r"\g<1>1", value)):
            return ["must not have leading 0s"]
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
        if address.ipv4_mapped is not None:
            return ["must not be an IPv4-mapped IPv6 address"]
    return []


def parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address, also with leading zeros in its decimal parts; None if it is none."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        pass
    if ":" in text:
        return None
    try:
        return ipaddress.IPv4Address(LEADING_ZEROS.sub("", text))
    except ValueError:
        return None


def not_ip_problems(value: str) -> list[str]:
    return [] if parse_address(value) is None else ["must be a DNS name, not an IP address"]


def canonical_ip_problems(value: str) -> list[str]:
    """An address in the one form that is written for it."""
    problems = ip_problems(value)
    usual = "" if problems else str(ipaddress.ip_address(value))
    return problems if problems or usual == value else [f'must be in canonical form ("{usual}")']


def too_long(value: str, limit: int) -> list[str]:
    return [f"must be no more than {limit} characters"] if size(value) > limit else []


def size(value: str) -> int:
    """In bytes, which is what all limits count; text from the network need not be valid Unicode."""
    return len(value.encode(errors="surrogatepass"))


def _is_ip(value: str) -> bool:
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return False
    return True


def _in_characters(problems: list[str]) -> list[str]:
    """Names of objects are measured in bytes like everything, but their messages say characters."""
    return [
        f"{problem.removesuffix('bytes')}characters" if problem.endswith(" bytes") else problem
        for problem in problems
    ]


# Paths


def relative_path_problems(value: str) -> list[str]:
    """A path that stays below where it starts."""
    absolute = ["must be a relative path"] if value.startswith("/") else []
    return absolute + no_backsteps_problems(value)


def local_path_problems(value: str) -> list[str]:
    """As a relative path, and not one that the kubelet keeps to itself."""
    problems = relative_path_problems(value)
    if value.startswith("..") and not value.startswith("../"):
        problems.append("must not start with '..'")
    return problems


def qualified_name_problems(value: str) -> list[str]:
    """For label keys and everything else that may have a domain in front."""
    return [] if names.is_qualified_name(value) else names.qualified_name_problems(value)


def label_value_problems(value: str) -> list[str]:
    return [] if names.is_label_value(value) else names.label_value_problems(value)


# Names of operating systems

_USER_LIMIT = 104
_DOMAIN_LIMIT = 256
_NETBIOS = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DOMAIN = re.compile(
    "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*"
)


def windows_user_problems(value: str) -> list[str]:
    """A name of a user with or without that of a domain."""
    if not value:
        return ["runAsUserName cannot be an empty string"]
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        return ["runAsUserName cannot contain control characters"]
    domain, backslash, user = value.rpartition("\\")
    if "\\" in domain:
        return ["runAsUserName cannot contain more than one backslash"]
    problems = []
    if size(domain) >= _DOMAIN_LIMIT:
        problems.append(f"Domain length must be under {_DOMAIN_LIMIT} characters")
    if backslash and not (_NETBIOS.fullmatch(domain) or _DOMAIN.fullmatch(domain)):
        problems.append("Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("User cannot be empty")
    elif size(user) > _USER_LIMIT:
        problems.append(f"User length must not be longer than {_USER_LIMIT} characters")
    if user and not user.strip(". "):
        problems.append("User cannot contain only periods or spaces")
    if set(user) & set('"/\\:;|=,+*?<>@[]'):
        problems.append('User cannot contain the following characters: "/\\:;|=,+*?<>@[]')
    return [f"runAsUserName's {problem}" for problem in problems]


def in_lower_case(form: Form) -> Form:
    return lambda value: form(value.lower())


def as_prefix(form: Form) -> Form:
    """For beginnings of texts, which may end with a dash: anything can follow it."""
    return lambda value: form(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)


_ISCSI = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$"),
}


def iscsi_name_problems(value: str) -> list[str]:
    form = _ISCSI.get(value[:3])
    if form is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if form.search(value) else ["must be valid format"]


FORMS: Mapping[str, Form] = {
    name.removesuffix("_problems").replace("_", "-"): form
    for name, form in globals().items()
    if name.endswith("_problems")
} | {
    "dns-subdomain-lower": in_lower_case(dns_subdomain_problems),
    "dns-subdomain-prefix": as_prefix(dns_subdomain_problems),
    "qualified-name-lower": in_lower_case(qualified_name_problems),
}
"""What the rules of types can ask of a value, by name: `port-name` is `port_name_problems`."""
