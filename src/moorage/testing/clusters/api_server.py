"""An API server in the process of a test."""

from __future__ import annotations

import builtins
import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, overload

import msgspec

from moorage.api.coordination import Event
from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.client.http import PATCH_TYPES, PatchKind
from moorage.client.resources import Resource
from moorage.testing.clusters.addresses import Address, Addresses, What
from moorage.testing.clusters.documents import Document, Given, documents_of
from moorage.testing.clusters.following import Following
from moorage.testing.clusters.parts import Parts
from moorage.testing.clusters.telling import NotInTime, what_is_known

T = TypeVar("T", bound=Object)

__tracebackhide__ = True  # pytest shows the line of the test instead

TIMEOUT = 10.0
_KUBECTL_SECONDS = 60.0
_STRICT = {"fieldManager": "moorage-test", "fieldValidation": "Strict"}
_encode = msgspec.json.Encoder().encode


class ApiServer:
    """An API server without nodes and scheduler, for the length of a `with` block.

        with ApiServer() as api:
            api.apply(Path("crd.yaml"))
            my_operator.connect(kubeconfig=api.kubeconfig)
            api.wait_until("Deployment", lambda found: found["spec"]["replicas"] == 3, name="web")

    It is in the process of the test, ready in some milliseconds, and listens on a free port of this machine.
    Controllers run as in a cluster: garbage is collected, Deployments make pods. In tests, use the fixture
    `api`.

    An object is given as itself, or by its kind and `name`. A kind is a class such as `moorage.Pod`, and then
    objects of that class are returned, or a name as kubectl takes it, and then documents are. What is
    refused raises the API server's error with its message.
    """

    def __init__(self) -> None:
        self._parts = Parts()

    def __enter__(self) -> Self:
        self._parts.start()
        self._addresses = Addresses(self._parts.client)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parts.stop()

    # Getting in from outside

    @property
    def url(self) -> str:
        """Where it listens, as in `https://127.0.0.1:41234`."""
        return self._parts.url

    @property
    def kubeconfig(self) -> Path:
        """A file for kubectl and any client; its user may do everything."""
        return self._parts.kubeconfig

    @property
    def token(self) -> str:
        """The bearer token of that user."""
        return self._parts.who.admin_token

    @property
    def ca(self) -> str:
        """The certificate that clients have to trust, as PEM."""
        return self._parts.who.ca

    def kubectl(self, *arguments: str, input: str = "") -> str:
        """What kubectl prints; it has to be on the PATH. Raises RuntimeError with its message if it fails."""
        program = shutil.which("kubectl")
        if program is None:
            raise RuntimeError("kubectl is not on the PATH; install it, or use `apply`, `get` and the like")
        cache = self._parts.folder / "kubectl-cache"
        done = subprocess.run(
            [program, f"--kubeconfig={self.kubeconfig}", f"--cache-dir={cache}", *arguments],
            input=input,
            env=os.environ | {"KUBECTL_KUBERC": "false"},
            capture_output=True,
            text=True,
            timeout=_KUBECTL_SECONDS,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout

    # Reading and writing

    def apply(self, *given: Given | Iterable[Given]) -> builtins.list[Document]:
        """Creates or changes objects, as `kubectl apply --server-side` does; returns them as they are then.

        Takes objects, documents, texts in YAML, and files or folders as `pathlib.Path`. A class that derives
        from `moorage.Object` stands for its definition, as `moorage crd` makes it. A namespace that is
        missing is `default`. Fields that do not exist are refused.
        """
        return [self._parts.ask(self._apply(document)) for document in documents_of(_flat(given))]

    @overload
    def create(self, item: T) -> T: ...

    @overload
    def create(self, item: Mapping[str, Any]) -> Document: ...

    def create(self, item: Any) -> Any:
        """Creates one object; returns it as the API server has it."""
        [document] = documents_of(item)
        return _as(item, self._parts.ask(self._create(document)))

    @overload
    def get(self, what: type[T], name: str, *, namespace: str = "") -> T: ...

    @overload
    def get(self, what: T) -> T: ...

    @overload
    def get(self, what: str, name: str, *, namespace: str = "") -> Document: ...

    @overload
    def get(self, what: Mapping[str, Any]) -> Document: ...

    def get(self, what: Any, name: str = "", *, namespace: str = "") -> Any:
        """An object as it is now: `get(pod)`, `get(Pod, "web")`, `get("configmap", "settings")`."""
        return _as(what, self._parts.ask(self._get(what, name, namespace)))

    @overload
    def list(self, kind: type[T], *, namespace: str = "", label_selector: str = "") -> builtins.list[T]: ...

    @overload
    def list(
        self, kind: str, *, namespace: str = "", label_selector: str = ""
    ) -> builtins.list[Document]: ...

    def list(self, kind: Any, *, namespace: str = "", label_selector: str = "") -> Any:
        """All objects of a kind, or those of a namespace."""
        found = self._parts.ask(self._list(kind, namespace, label_selector))
        return found if isinstance(kind, type) else [each.raw for each in found]

    @overload
    def patch(
        self,
        what: type[T],
        patch: Mapping[str, Any] | Sequence[Any],
        name: str,
        *,
        namespace: str = "",
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> T: ...

    @overload
    def patch(
        self,
        what: T,
        patch: Mapping[str, Any] | Sequence[Any],
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> T: ...

    @overload
    def patch(
        self,
        what: str | Mapping[str, Any],
        patch: Mapping[str, Any] | Sequence[Any],
        name: str = "",
        *,
        namespace: str = "",
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> Document: ...

    def patch(
        self,
        what: Any,
        patch: Mapping[str, Any] | Sequence[Any],
        name: str = "",
        *,
        namespace: str = "",
        kind: PatchKind = "merge",
        subresource: str = "",
    ) -> Any:
        """Changes an object: `patch(Node, {"metadata": {"labels": {"noisy": "true"}}}, "node-1")`.

        `kind` says what the patch is: `merge`, `strategic`, `json` or `apply`.
        """

        async def send() -> Document:
            address = await self._addresses.of_one(what, name, namespace)
            return await self._write("PATCH", address, patch, PATCH_TYPES[kind], subresource=subresource)

        return _as(what, self._parts.ask(send()))

    def delete(
        self, what: What, name: str = "", *, namespace: str = "", grace_period_seconds: int | None = None
    ) -> None:
        """Deletes an object; `wait_deleted` waits until it is gone."""

        async def send() -> None:
            address = await self._addresses.of_one(what, name, namespace)
            await self._parts.client.delete(
                address.resource,
                address.name,
                namespace=address.namespace,
                grace_period_seconds=grace_period_seconds,
            )

        self._parts.ask(send())

    @contextmanager
    def namespace(self) -> Iterator[str]:
        """A new namespace for the length of a `with` block; it ends with all that is in it.

        Tests that share a cluster do not see each other's objects so.
        """
        name: str = self.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "test-"}}
        )["metadata"]["name"]
        try:
            yield name
        finally:
            for pod in self.list(Pod, namespace=name):
                self.delete(pod, grace_period_seconds=0)
            self.delete("namespace", name)
            self.wait_deleted("namespace", name)

    # Waiting

    @overload
    def wait_until(
        self,
        what: type[T],
        is_so: Callable[[T], object],
        name: str,
        *,
        namespace: str = "",
        timeout: float = TIMEOUT,
    ) -> T: ...

    @overload
    def wait_until(self, what: T, is_so: Callable[[T], object], *, timeout: float = TIMEOUT) -> T: ...

    @overload
    def wait_until(
        self,
        what: str | Mapping[str, Any],
        is_so: Callable[[Document], object],
        name: str = "",
        *,
        namespace: str = "",
        timeout: float = TIMEOUT,
    ) -> Document: ...

    def wait_until(
        self,
        what: Any,
        is_so: Callable[[Any], object],
        name: str = "",
        *,
        namespace: str = "",
        timeout: float = TIMEOUT,
    ) -> Any:
        """Waits until `is_so` says yes to an object, and returns it as it is then. It need not exist yet.

        A watch wakes it: `wait_until(pod, lambda pod: pod.status.phase == "Running")`. After `timeout`
        seconds it raises NotInTime, which says what is known of the object.
        """
        address = self._parts.ask(self._addresses.of_one(what, name, namespace))
        return self._wait(address, is_so, "is not as it should be", timeout)

    def wait_deleted(
        self, what: What, name: str = "", *, namespace: str = "", timeout: float = TIMEOUT
    ) -> None:
        """Waits until an object is gone; another one of the same name counts as that."""
        address = self._parts.ask(self._addresses.of_one(what, name, namespace))
        uid = what.uid if isinstance(what, Object) else ""
        is_there = False
        with self._following(address) as following:
            for seen in following.seen(timeout):
                if seen is None:
                    if not is_there:
                        return
                elif seen.deleted or (uid and seen.item.uid != uid):
                    return
                else:
                    is_there, uid = True, seen.item.uid
        raise NotInTime(what_is_known(self._parts, address, "is not gone", timeout))

    def wait_event(self, reason: str, regarding: Object | None = None, *, timeout: float = TIMEOUT) -> Event:
        """Waits for an event with this reason, about an object if one is given; returns it.

        It has `note` (the message), `type`, `action`, `regarding` and `related`.
        """
        events = Resource.of(Event)
        namespace = regarding.namespace if regarding is not None else ""
        with Following(self._parts, events, namespace=namespace) as following:
            for seen in following.seen(timeout):
                if seen is not None and seen.item.reason == reason and _is_about(seen.item, regarding):
                    return seen.item
        if regarding is None:
            raise NotInTime(f"there is no event {reason} after {timeout:g} s")
        address = self._parts.ask(self._addresses.of_one(regarding))
        raise NotInTime(what_is_known(self._parts, address, f"has no event {reason}", timeout))

    def _wait(self, address: Address, is_so: Callable[[Any], object], failure: str, timeout: float) -> Any:
        with self._following(address) as following:
            for seen in following.seen(timeout):
                if seen is not None and not seen.deleted:
                    found = _plain_or_typed(address, seen.item)
                    if is_so(found):
                        return found
        raise NotInTime(what_is_known(self._parts, address, failure, timeout))

    def _following(self, address: Address) -> Following[Any]:
        return Following(self._parts, address.resource, namespace=address.namespace, name=address.name)

    # In the cluster's thread

    async def _create(self, document: Document) -> Document:
        address = await self._addresses.of(document)
        return await self._write("POST", address._replace(name=""), document)

    async def _apply(self, document: Document) -> Document:
        address = await self._addresses.of_one(document)
        return await self._write("PATCH", address, document, PATCH_TYPES["apply"], force="true")

    async def _get(self, what: What, name: str, namespace: str) -> Document:
        address = await self._addresses.of_one(what, name, namespace)
        path = address.resource.path(address.namespace, address.name)
        found: Document = await self._parts.client.request_json("GET", path)
        return found

    async def _list(self, kind: What, namespace: str, label_selector: str) -> builtins.list[Any]:
        resource = (await self._addresses.of(kind)).resource
        listing = await self._parts.client.list(
            resource, namespace=namespace if resource.namespaced else "", label_selector=label_selector
        )
        return listing.items

    async def _write(
        self,
        method: str,
        address: Address,
        body: Any,
        content_type: str = "application/json",
        *,
        subresource: str = "",
        **params: str,
    ) -> Document:
        path = address.resource.path(address.namespace, address.name, subresource)
        answer = await self._parts.client.send(
            method, path, _encode(body), content_type=content_type, params=_STRICT | params
        )
        document: Document = msgspec.json.decode(answer)
        return document


def _flat(given: Iterable[Any]) -> Iterator[Given]:
    for each in given:
        if isinstance(each, Object | type | Mapping | str | Path):
            yield each
        else:
            yield from _flat(each)


def _as(what: Any, document: Document) -> Any:
    """A document in the form in which it was asked for."""
    if isinstance(what, Object):
        return from_document(type(what), document)
    return from_document(what, document) if isinstance(what, type) else document


def _plain_or_typed(address: Address, item: Object) -> Any:
    return item.raw if address.resource.type is Object else item


def _is_about(event: Event, regarding: Object | None) -> bool:
    if regarding is None:
        return True
    about = event.regarding
    return (about.kind, about.namespace, about.name) == (regarding.kind, regarding.namespace, regarding.name)
