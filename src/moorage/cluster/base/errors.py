"""The answers of an API server that does not do what it is asked, as exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from moorage.cluster.base.go_text import as_json, number, quoted


class Cause(NamedTuple):
    """One broken rule: which field, and what is wrong with it."""

    reason: str
    field: str
    message: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is answered with a Status of kind Failure."""

    code: int
    reason: str
    message: str
    details: dict[str, Any] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """What came up before and is to be told, too."""

    def __str__(self) -> str:
        return self.message

    def document(self) -> dict[str, Any]:
        """The Status object that tells the client."""
        status = {"kind": "Status", "apiVersion": "v1", "metadata": self.metadata, "status": "Failure"}
        told = {"message": self.message, "reason": self.reason, "details": self.details, "code": self.code}
        return status | {name: value for name, value in told.items() if value or value == {}}


# Broken rules of a field


def required(field: str, detail: str = "") -> Cause:
    return Cause("FieldValueRequired", field, f"Required value: {detail}" if detail else "Required value")


def invalid_value(field: str, value: Any, detail: str) -> Cause:
    text = f"Invalid value: {shown(value)}"
    return Cause("FieldValueInvalid", field, f"{text}: {detail}" if detail else text)


def unsupported_value(field: str, value: Any, supported: Iterable[str]) -> Cause:
    known = ", ".join(shown(each) for each in supported)
    text = f"Unsupported value: {shown(value)}: supported values: {known}"
    return Cause("FieldValueNotSupported", field, text)


def forbidden_value(field: str, detail: str) -> Cause:
    return Cause("FieldValueForbidden", field, f"Forbidden: {detail}")


def duplicate_value(field: str, value: Any) -> Cause:
    return Cause("FieldValueDuplicate", field, f"Duplicate value: {shown(value)}")


def value_not_found(field: str, value: Any) -> Cause:
    return Cause("FieldValueNotFound", field, f"Not found: {shown(value)}")


def too_long(field: str, limit: int) -> Cause:
    size = "1 byte" if limit == 1 else f"{limit} bytes"
    return Cause("FieldValueTooLong", field, f"Too long: may not be more than {size}")


def too_many(field: str, found: int, limit: int) -> Cause:
    size = "1 item" if limit == 1 else f"{limit} items"
    return Cause("FieldValueTooMany", field, f"Too many: {found}: must have at most {size}")


def shown(value: Any) -> str:
    """A value as it stands in messages: texts in quotes, numbers plain, everything else as JSON."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return as_json(value)


def listed(texts: Iterable[str]) -> str:
    """One text as it is, several as a list: [a, b]."""
    known = list(texts)
    return known[0] if len(known) == 1 else f"[{', '.join(known)}]"


# Refusals. `resource` is the plural, with the group behind a dot: pods, deployments.apps.


def _object(resource: str, name: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    kind, _, group = resource.partition(".")
    return _details(kind, group, name, causes)


def _details(kind: str, group: str, name: str, causes: Sequence[Cause]) -> dict[str, Any]:
    found = {"name": name, "group": group, "kind": kind, "causes": [cause._asdict() for cause in causes]}
    return {key: value for key, value in found.items() if value}


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def unreasoned(message: str) -> Refusal:
    """A bad request of a kind for which there is no reason; kube-apiserver calls it an error of its own."""
    return Refusal(400, "", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")


def forbidden(resource: str, name: str, why: str, *, causes: Sequence[Cause] = ()) -> Refusal:
    place = f'{resource} "{name}" is forbidden' if name else f"{resource} is forbidden"
    return Refusal(403, "Forbidden", f"{place}: {why}", details=_object(resource, name, causes))


class NoSuchPath(Refusal):
    """Nothing is served at the path."""

    def __init__(self) -> None:
        super().__init__(404, "NotFound", "the server could not find the requested resource", details={})


def path_not_found() -> Refusal:
    return NoSuchPath()


def not_found(resource: str, name: str) -> Refusal:
    return Refusal(404, "NotFound", f'{resource} "{name}" not found', details=_object(resource, name))


def method_not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, details={})


def not_acceptable(accepted: str) -> Refusal:
    return Refusal(406, "NotAcceptable", f"only the following media types are accepted: {accepted}")


def already_exists(resource: str, name: str) -> Refusal:
    message = f'{resource} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, details=_object(resource, name))


CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


def conflict(resource: str, name: str, why: str = CHANGED, *, causes: Sequence[Cause] = ()) -> Refusal:
    message = f'Operation cannot be fulfilled on {resource} "{name}": {why}'
    return Refusal(409, "Conflict", message, details=_object(resource, name, causes))


def expired(message: str, *, continue_token: str = "") -> Refusal:
    """What is asked for is no longer known; with a token, what remains can be had as it is now."""
    metadata = {"continue": continue_token} if continue_token else {}
    return Refusal(410, "Expired", message, metadata=metadata)


def too_large(limit: int) -> Refusal:
    return Refusal(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def unsupported_media_type(accepted: Iterable[str]) -> Refusal:
    why = "the body of the request was in an unknown format - accepted media types include: "
    return Refusal(415, "UnsupportedMediaType", why + ", ".join(accepted))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """An object that breaks rules; the message names each of them."""
    whole = f"{kind}.{group}" if group else kind
    message = f'{whole} "{name}" is invalid: {listed(dict.fromkeys(map(str, causes)))}'
    return Refusal(422, "Invalid", message, details=_details(kind, group, name, causes))


def rejected() -> Refusal:
    """A patch that cannot be done; of why, nothing is said."""
    message = "the server rejected our request due to an error in our request"
    return Refusal(422, "Invalid", message, details={})


def check_namespace(metadata: dict[str, Any], namespace: str) -> None:
    """Refuses an object of another namespace than that of its address."""
    if metadata.get("namespace") and metadata["namespace"] != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
