"""APIServices of the groups that are served here, and whether those of others can be reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import condition, other_conditions
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.api_server.api_services import AVAILABLE
from moorage.cluster.objects.writes import InternalWriter
from moorage.cluster.schema.definitions import Definitions

API_SERVICES = "apiservices.apiregistration.k8s.io"
_SLICES = "endpointslices.discovery.k8s.io"
_OWN_GROUP = "apiregistration.k8s.io"
_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
_PRIORITIES = {
    "": (18000, 1),
    "apps": (17800, 15),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "autoscaling": (17500, 15),
    "batch": (17400, 15),
    "certificates.k8s.io": (17300, 15),
    "networking.k8s.io": (17200, 15),
    "policy": (17100, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "storage.k8s.io": (16800, 15),
    "apiextensions.k8s.io": (16700, 15),
    "admissionregistration.k8s.io": (16700, 15),
    "scheduling.k8s.io": (16600, 15),
    "coordination.k8s.io": (16500, 15),
    "node.k8s.io": (16300, 15),
    "discovery.k8s.io": (16200, 15),
    "flowcontrol.apiserver.k8s.io": (16100, 21),
    "resource.k8s.io": (16200, 21),
}
"""Which group, and which version of it, a client should prefer: the higher, the sooner."""
_OTHER_VERSIONS = {"v2.autoscaling": 30, "v1alpha2.scheduling.k8s.io": 2}
_CUSTOM = (1000, 100)


class Registrations:
    """Keeps the APIServices up to date, from `start` on; what is to be written waits until `settle`."""

    def __init__(
        self,
        writer: InternalWriter,
        definitions: Definitions,
        wake: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._writer = writer
        self._store = writer.store
        self._definitions = definitions
        self._wake = wake
        self._clock = clock
        self._served = -1  # the generation of the definitions that is registered

    def start(self) -> None:
        """Registers what is served; needs no event loop yet."""
        self.settle()
        for resource in (API_SERVICES, "services", _SLICES):
            self._store.listen(resource, self._changed)

    def _changed(self, change: Change) -> None:
        if change.resource == API_SERVICES or any(self._foreign()):
            self._wake()

    def settle(self) -> None:
        if self._served != self._definitions.generation:
            self._served = self._definitions.generation
            self._register()
        for stored in list(self._foreign()):
            self._look_after(stored)

    def _foreign(self) -> Iterator[Stored]:
        return (each for each in self._store.iterate(API_SERVICES) if each.spec.get("service") is not None)

    def _register(self) -> None:
        wanted = {f"{each.version}.{each.group}": each for each in self._definitions}
        for name, definition in wanted.items():
            if definition.group == _OWN_GROUP or self._store.get(API_SERVICES, "", name) is not None:
                continue
            first, own = _CUSTOM if definition.custom else _PRIORITIES.get(definition.group, _CUSTOM)
            spec = {"version": definition.version, "groupPriorityMinimum": first}
            spec["versionPriority"] = _OTHER_VERSIONS.get(name, own)
            if definition.group:
                spec["group"] = definition.group
            labels = {_MANAGED: "true" if definition.custom else "onstart"}
            self._writer.create(API_SERVICES, {"metadata": {"name": name, "labels": labels}, "spec": spec})
        for stored in self._store.objects(API_SERVICES):
            if stored.labels.get(_MANAGED) == "true" and stored.name not in wanted:
                with suppress(Refusal):
                    self._writer.delete(API_SERVICES, stored)

    def _look_after(self, stored: Stored) -> None:
        reason, message = self._problem(stored.spec)
        known = condition(stored.status, AVAILABLE) or {}
        told = {"type": AVAILABLE, "status": "False", "reason": reason, "message": message}
        if any(known.get(name) != value for name, value in told.items()):
            same = known.get("status") == "False"
            since = known.get("lastTransitionTime") if same else timestamp(self._clock())
            conditions = [*other_conditions(stored.status, AVAILABLE), {**told, "lastTransitionTime": since}]
            self._writer.change(
                API_SERVICES,
                stored,
                lambda document: document.update(status={"conditions": conditions}),
                subresource="status",
            )

    def _problem(self, spec: Document) -> tuple[str, str]:
        """Why the server of a group cannot be reached. There is no network in which it could be."""
        reference = spec["service"]
        namespace, name, number = reference.get("namespace", ""), reference.get("name", ""), reference["port"]
        what = f'service/{name} in "{namespace}"'
        service = self._store.get("services", namespace, name)
        if service is None:
            return "ServiceNotFound", f"{what} is not present"
        if service.spec.get("type") == "ClusterIP":
            ports = [port for port in service.spec.get("ports") or () if port.get("port") == number]
            if not ports:
                return "ServicePortError", f"{what} is not listening on port {number}"
            port = ports[0].get("name", "")
            slices = [
                each
                for each in self._store.iterate(_SLICES, namespace)
                if each.labels.get("kubernetes.io/service-name") == name
            ]
            if not slices:
                return "EndpointsNotFound", f"cannot find endpointslices for {what}"
            if not any(_leads_to(each.document, port) for each in slices):
                text = f'endpointslices for {what} have no addresses with port name "{port}"'
                return "MissingEndpoints", text
        host = f"{service.spec.get('clusterIP') or service.spec.get('externalName', '')}:{number}"
        url = f"https://{host}/apis/{spec.get('group', '')}/{spec.get('version', '')}"
        why = f'Get "{url}": dial tcp {host}: connect: no route to host'
        return "FailedDiscoveryCheck", f"failing or missing response from {url}: {why}"


def _leads_to(slice_: Document, port: str) -> bool:
    ready = any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for endpoint in slice_.get("endpoints") or ()
    )
    return ready and any(
        each.get("name") == port and each.get("port") is not None for each in slice_.get("ports") or ()
    )
