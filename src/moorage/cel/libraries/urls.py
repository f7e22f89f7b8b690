"""URLs taken apart, by the rules of the original, which are neither those of browsers nor Python's."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from moorage.cel.libraries.addresses import AddressError, parse_address
from moorage.cel.libraries.quoting import printable
from moorage.cel.libraries.url_escapes import (
    FRAGMENT,
    HOST,
    PATH,
    USER,
    UrlError,
    escaped,
    is_escaped,
    unescaped,
    unescaped_host,
    unescaped_query,
)

_CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
_SCHEME = re.compile(rb"([A-Za-z][A-Za-z0-9+.-]*):")
_PORT = re.compile(rb"(?::[0-9]*)?")
_USER = re.compile(rb"[-A-Za-z0-9._:~!$&'()*+,;=%@]*")
_MOST_PARAMETERS = 10_000


@dataclass(frozen=True, slots=True)
class Parts:
    """Of a URL, in bytes; path and fragment as they were written."""

    scheme: bytes = b""
    opaque: bytes = b""
    """What follows the scheme, if that does not begin with a slash."""
    has_authority: bool = False
    user: bytes | None = None
    """Maybe with a password."""
    host: bytes = b""
    """With the port; without escapes."""
    path: bytes = b""
    query: bytes | None = None
    """None: there is not even a question mark."""
    fragment: bytes = b""

    def host_and_port(self) -> tuple[bytes, bytes]:
        host, port = self.host, b""
        colon = host.rfind(b":")
        if colon >= 0 and _PORT.fullmatch(host[colon:]):
            host, port = host[:colon], host[colon + 1 :]
        if host.startswith(b"[") and host.endswith(b"]"):
            host = host[1:-1]
        return host, port

    def escaped_path(self) -> bytes:
        return self.path if is_escaped(self.path, PATH) else escaped(unescaped(self.path), PATH)

    def parameters(self) -> dict[bytes, list[bytes]]:
        """Of the query; malformed ones are left out, and if there are too many, all."""
        found: dict[bytes, list[bytes]] = {}
        settings = (self.query or b"").split(b"&")
        if len(settings) > _MOST_PARAMETERS:
            return found
        for setting in settings:
            if not setting or b";" in setting:
                continue
            key, _, value = setting.partition(b"=")
            try:
                key, value = unescaped_query(key), unescaped_query(value)
            except UrlError:
                continue
            found.setdefault(key, []).append(value)
        return found

    def joined(self) -> bytes:
        """The URL again, in the one way it should be written: two are the same if these are."""
        text = self.scheme + b":" if self.scheme else b""
        text += self.opaque or self._hierarchy()
        if self.query is not None:
            text += b"?" + self.query
        if self.fragment:
            fragment = self.fragment
            text += b"#"
            text += fragment if is_escaped(fragment, FRAGMENT) else escaped(unescaped(fragment), FRAGMENT)
        return text

    def _hierarchy(self) -> bytes:
        text = b""
        if self.host or self.user is not None or (self.scheme and self.has_authority and self.path):
            text = b"//" + (b"" if self.user is None else self.user + b"@") + escaped(self.host, HOST)
        return text + self.escaped_path()


def parse_request(text: str) -> Parts:
    """An absolute URL, or a path from the root; what may look like a fragment is none. Raises UrlError."""
    try:
        return _parsed(text.encode(errors="surrogateescape"), is_request=True)
    except UrlError as error:
        raise UrlError(f"parse {printable(text)}: {error}") from None


def parse(text: str) -> Parts:
    """As requests, but with a fragment."""
    parse_request(text)
    rest, _, fragment = text.partition("#")
    try:
        parts = _parsed(rest.encode(errors="surrogateescape"), is_request=False)
        unescaped(fragment.encode(errors="surrogateescape"))
    except UrlError as error:
        raise UrlError(f"parse {printable(rest)}: {error}") from None
    return replace(parts, fragment=fragment.encode(errors="surrogateescape"))


def _parsed(text: bytes, is_request: bool) -> Parts:
    if _CONTROL.search(text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and is_request:
        raise UrlError("empty url")
    if text == b"*":
        return Parts(path=text)
    scheme, rest = _split_scheme(text)
    rest, mark, after_mark = rest.partition(b"?")
    query = after_mark if mark else None
    if not rest.startswith(b"/"):
        if not scheme:
            raise UrlError("invalid URI for request")
        return Parts(scheme, rest, query=query)
    user, host = None, b""
    has_authority = rest.startswith(b"//") and (
        bool(scheme) or (not is_request and not rest.startswith(b"///"))
    )
    if has_authority:
        authority, slash, path = rest[2:].partition(b"/")
        user, host = _authority(scheme, authority)
        rest = slash + path
    unescaped(rest)  # for what it raises
    return Parts(scheme, b"", has_authority, user, host, rest, query)


def _split_scheme(text: bytes) -> tuple[bytes, bytes]:
    if text.startswith(b":"):
        raise UrlError("missing protocol scheme")
    scheme = _SCHEME.match(text)
    return (scheme.group(1).lower(), text[scheme.end() :]) if scheme else (b"", text)


def _authority(scheme: bytes, text: bytes) -> tuple[bytes | None, bytes]:
    user, at, host = text.rpartition(b"@")
    parsed_host = _host(scheme, host)
    if not at:
        return None, parsed_host
    if _USER.fullmatch(user) is None:
        raise UrlError("net/url: invalid userinfo")
    name, colon, password = user.partition(b":")
    normal = escaped(unescaped(name), USER) + colon + escaped(unescaped(password), USER)
    return normal, parsed_host


def _host(scheme: bytes, text: bytes) -> bytes:
    bracket = text.rfind(b"[")
    if bracket > 0:
        raise UrlError("invalid IP-literal")
    if bracket == 0:
        return _bracketed(text)
    if b":" in text:
        # only the web's own URLs may not have several ports, as databases' may
        is_strict = scheme in (b"http", b"https")
        _check_port(text[text.find(b":") if is_strict else text.rfind(b":") :])
    return unescaped_host(text)


def _bracketed(text: bytes) -> bytes:
    """An IPv6 address in brackets, maybe with a zone, which follows an escaped percent sign."""
    end = text.rfind(b"]")
    if end < 0:
        raise UrlError("missing ']' in host")
    _check_port(text[end + 1 :])
    address, percent, zone = text[1:end].partition(b"%25")
    name = unescaped_host(address) + unescaped_host(percent + zone, is_zone=True)
    try:
        parsed = parse_address(name.decode(errors="surrogateescape"))
    except AddressError as error:
        raise UrlError(f"invalid host: {error}") from None
    if parsed.bits == 32:
        raise UrlError("invalid IP-literal")
    return b"[" + name + b"]" + text[end + 1 :]


def _check_port(text: bytes) -> None:
    if _PORT.fullmatch(text) is None:
        raise UrlError(f"invalid port {printable(text.decode(errors='replace'))} after host")
