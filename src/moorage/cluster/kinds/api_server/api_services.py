"""APIServices: who answers for a version of a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import time

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.common import WithStatus, part
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.definitions import keep_but
from moorage.cluster.schema.forms import port_number_problems

AVAILABLE = "Available"
LOCAL: Document = {
    "type": AVAILABLE,
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}


class ApiServiceStrategy(WithStatus):
    type_name = "apiregistration.v1.APIService"

    def __init__(self, now: Callable[[], str] = lambda: timestamp(time())) -> None:
        super().__init__()
        self._now = now

    def prepare_create(self, document: Document) -> None:
        is_local = part(document, "spec").get("service") is None
        document["status"] = {}
        if is_local:
            document["status"]["conditions"] = [{**LOCAL, "lastTransitionTime": self._now()}]

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check("apiregistration.v1.APIServiceStatus", new.get("status"), "status")


@relates("apiregistration.v1.APIServiceSpec")
def _group_and_name(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    group, version = spec.get("group", ""), spec.get("version", "")
    name, wanted = around["apiregistration.v1.APIService"]["metadata"].get("name", ""), f"{version}.{group}"
    if name and name != wanted:
        yield invalid_value("metadata.name", name, f'must be `spec.version+"."+spec.group`: "{wanted}"')
    if not group and version != "v1":
        text = "only v1 may have an empty group and it better be legacy kube"
        yield errors.required(f"{path}.group", text)
    elif group:
        yield from check_form("dns-subdomain", group, f"{path}.group")


@relates("apiregistration.v1.APIServiceSpec")
def _server(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    if service is None:
        if bundle:
            size = len(bundle.rstrip("=")) * 3 // 4
            text = "local APIServices may not have a caBundle"
            yield invalid_value(f"{path}.caBundle", f"{size} bytes", text)
        if insecure:
            text = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid_value(f"{path}.insecureSkipTLSVerify", True, text)
        return
    yield from check("apiregistration.v1.ServiceReference", service, f"{path}.service")
    port = service.get("port", 0)
    if problems := port_number_problems(port):
        yield invalid_value(f"{path}.service.port", port, f"port is not valid: {', '.join(problems)}")
    if insecure and bundle:
        yield invalid_value(f"{path}.insecureSkipTLSVerify", True, "may not be true if caBundle is present")
