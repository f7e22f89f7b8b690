"""Which proxy the environment wants for a server."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_from_environment(server: str, environ: Mapping[str, str]) -> str:
    """What $HTTPS_PROXY or $HTTP_PROXY say for a server; "" for none, or where $NO_PROXY excludes it."""
    parts = urlsplit(server)
    proxy = _variable(environ, f"{parts.scheme}_proxy")
    if not proxy or _bypassed(parts.hostname or "", parts.port, _variable(environ, "no_proxy")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name.upper()) or environ.get(name) or ""


def _bypassed(host: str, port: int | None, excluded: str) -> bool:
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(
        _excludes(each.strip().lower(), host, port, address) for each in excluded.split(",") if each.strip()
    )


def _excludes(
    rule: str, host: str, port: int | None, address: ipaddress.IPv4Address | ipaddress.IPv6Address | None
) -> bool:
    if rule == "*":
        return True
    if address is not None and "/" in rule:
        try:
            return address in ipaddress.ip_network(rule, strict=False)
        except ValueError:
            return False
    name, colon, wanted = rule.rpartition(":")
    if colon and wanted.isdigit() and "]" not in wanted and (":" not in name or name.endswith("]")):
        if port is not None and int(wanted) != port:
            return False
        rule = name
    rule = rule.strip("[]")
    if address is not None:
        return _address(rule) == address
    rule = rule.removeprefix("*")
    return host.endswith(rule) if rule.startswith(".") else host == rule or host.endswith(f".{rule}")


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
