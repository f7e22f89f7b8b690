"""Probes of containers and what is run when containers start and stop."""

from __future__ import annotations

from moorage.cluster.base.errors import forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import Found, check_nonnegative
from moorage.cluster.schema.forms import header_name_problems, port_name_problems, port_number_problems

_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def check_probes(container: Document, path: str, found: Found) -> None:
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is None:
            continue
        place = f"{path}.{name}"
        _check_probe(probe, place, found)
        if name != "readinessProbe":
            successes = probe.get("successThreshold", 0)
            if successes != 1:
                found.append(invalid_value(f"{place}.successThreshold", successes, "must be 1"))
        elif "terminationGracePeriodSeconds" in probe:
            seconds = probe["terminationGracePeriodSeconds"]
            detail = "must not be set for readinessProbes"
            found.append(invalid_value(f"{place}.terminationGracePeriodSeconds", seconds, detail))


def _check_probe(probe: Document, path: str, found: Found) -> None:
    _check_handler(probe, _PROBE_HANDLERS, path, None, found)
    for field in _COUNTS:
        check_nonnegative(probe.get(field), f"{path}.{field}", found)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        found.append(
            invalid_value(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0")
        )


def check_lifecycle(lifecycle: Document, path: str, grace: int | None, found: Found) -> None:
    """`grace` is how many seconds the pod has for its end."""
    for name in ("postStart", "preStop"):
        if name in lifecycle:
            _check_handler(lifecycle[name], _LIFECYCLE_HANDLERS, f"{path}.{name}", grace, found)


def _check_handler(
    handler: Document, known: tuple[str, ...], path: str, grace: int | None, found: Found
) -> None:
    given = [name for name in known if name in handler]
    if not given:
        found.append(required(path, "must specify a handler type"))
        return
    _check_action(given[0], handler[given[0]], f"{path}.{given[0]}", grace, found)
    for name in given[1:]:
        found.append(forbidden_value(f"{path}.{name}", "may not specify more than 1 handler type"))


def _check_action(kind: str, action: Document, path: str, grace: int | None, found: Found) -> None:
    if kind == "exec":
        if not action.get("command"):
            found.append(required(f"{path}.command"))
    elif kind == "httpGet":
        _check_http(action, path, found)
    elif kind == "sleep":
        seconds = action.get("seconds", 0)
        if grace is not None and not 0 <= seconds <= grace:
            detail = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            found.append(invalid_value(path, seconds, detail))
    else:
        check_port(action.get("port", 0), f"{path}.port", found)


def _check_http(action: Document, path: str, found: Found) -> None:
    if not action.get("path"):
        found.append(required(f"{path}.path"))
    check_port(action.get("port", 0), f"{path}.port", found)
    scheme = action.get("scheme", "")
    if scheme not in ("HTTP", "HTTPS"):
        found.append(unsupported_value(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
    for header in action.get("httpHeaders", ()):
        name = header.get("name", "")
        for problem in header_name_problems(name):
            found.append(invalid_value(f"{path}.httpHeaders", name, problem))


def check_port(port: int | str, path: str, found: Found) -> None:
    """A port by number or by name."""
    problems = port_name_problems(port) if isinstance(port, str) else port_number_problems(port)
    for problem in problems:
        found.append(invalid_value(path, port, problem))
