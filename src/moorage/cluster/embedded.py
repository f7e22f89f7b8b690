"""The whole embedded cluster, put together."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from moorage.api.simulated_devices import NO_DEVICES, SimulatedDevices, filled
from moorage.client.connection import ConnectionConfig
from moorage.client.crossing import Crossing
from moorage.client.local import LocalAnswer
from moorage.cluster.access.authentication import Authenticator
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.requests import Answer, Query, Request, Stream
from moorage.cluster.access.reviews import Reviews
from moorage.cluster.access.roles import bootstrap_roles
from moorage.cluster.access.tokens import Tokens, generate_key
from moorage.cluster.access.users import MASTERS, Attributes, User
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.data_file import DataFile
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.outside import Unanswered
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.times import seconds_of
from moorage.cluster.base.webhook_client import WebhookClient
from moorage.cluster.custom.conversion import Conversions
from moorage.cluster.custom.serving import CustomResources
from moorage.cluster.kinds.catalog import strategies
from moorage.cluster.life.controllers import Controllers
from moorage.cluster.life.nodes import RUN_NAMESPACES, Machine, Nodes
from moorage.cluster.life.nodes.device_slices import CLASSES, SLICES
from moorage.cluster.life.nodes.logs import log_answer
from moorage.cluster.life.nodes.service_ports import locate
from moorage.cluster.objects.decoding import shape
from moorage.cluster.objects.flow_conditions import FlowConditions
from moorage.cluster.objects.hooks.hooks import Hooks
from moorage.cluster.objects.registrations import Registrations
from moorage.cluster.objects.service_addresses import ServiceAddresses
from moorage.cluster.objects.system_objects import authentication_config, system_objects
from moorage.cluster.objects.writes import InternalWriter, Objects
from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.discovery_data import builtin_definitions
from moorage.cluster.serving.handlers import Handlers
from moorage.cluster.serving.http import HttpServer
from moorage.cluster.serving.scheduler_client import SchedulerClient
from moorage.cluster.serving.server import ApiServer
from moorage.cluster.serving.subresources import Subresources

ADMIN = User("kubernetes-admin", groups=(MASTERS,))
SCHEDULER = User("system:kube-scheduler", groups=(MASTERS, "system:authenticated"))
"""The built-in scheduler. It may read whatever its plugins ask for."""

_TOKEN_SECONDS = 365 * 24 * 3600  # as the original extends those that pods get
_EVENT_SECONDS = 3600.0
_SWEEP_SECONDS = 60.0
_HAS_RUN = "has-run"  # the setting of a data file whose cluster was started before


@dataclass(frozen=True)
class Identity:
    """What a cluster is known by; it stays the same as long as its data."""

    certificate: bytes
    """The API server's key and certificate, which is its own authority, as PEM."""
    signing_key: bytes
    """For the tokens of service accounts."""
    admin_token: str

    @property
    def ca(self) -> str:
        text = self.certificate.decode()
        return text[text.index("-----BEGIN CERTIFICATE-----") :]


def identity(data: DataFile | None, address: str, new_certificate: Callable[[], bytes]) -> Identity:
    """That of the data, or a new one. A certificate is for one address, the rest for all."""

    def kept(name: str, new: Callable[[], str]) -> str:
        known = data.setting(name) if data is not None else None
        value = known or new()
        if data is not None and not known:
            data.set(name, value)
        return value

    return Identity(
        kept(f"certificate for {address}", lambda: new_certificate().decode()).encode(),
        kept("signing-key", lambda: generate_key().decode()).encode(),
        kept("admin-token", lambda: secrets.token_hex(16)),
    )


class EmbeddedCluster:
    """An API server with nodes and controllers, between `start` and `stop`.

    Pods of Moorage's own image, and of `run_images`, run as processes of this machine in `run_namespaces`;
    without any namespace, no pod does. `gates` are the alpha features that are on.
    """

    def __init__(
        self,
        who: Identity,
        *,
        data: DataFile | None = None,
        folder: Path,
        run_images: Sequence[str] = (),
        run_namespaces: Sequence[str] = RUN_NAMESPACES,
        gates: Iterable[str] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.who = who
        self.store = Store(data)
        self._data = data
        self._folder = folder
        self._run_images = run_images
        self._run_namespaces = run_namespaces
        self._clock = clock
        self._stack = AsyncExitStack()
        self._gates = frozenset(gates)
        self._definitions = Definitions(builtin_definitions(strategies(self._gates), self._gates))
        self._tokens = Tokens(who.signing_key, "https://kubernetes.default.svc.cluster.local", clock)
        self._tokens.add(who.admin_token, ADMIN)
        authorizer = Authorizer(self.store)
        self._webhooks = WebhookClient(partial(locate, self.store, self._runs))
        self._custom = CustomResources(
            self._definitions,
            self.store,
            clock=clock,
            wake=self._settle_definitions,
            ended=lambda name: self._handlers.end_watches(name),
            conversions=Conversions(self._webhooks),
        )
        self._settling: asyncio.Handle | None = None
        self._crossing = Crossing()
        hooks = Hooks(self.store, self._definitions, authorizer, self._webhooks)
        self._objects = Objects(self.store, self._definitions, authorizer, hooks, clock=clock)
        self.writer = InternalWriter(self._objects)
        wake = self._settle_definitions
        self._registrations = Registrations(self.writer, self._definitions, wake, clock)
        self._flow_conditions = FlowConditions(self.writer, wake, clock)
        self._service_addresses = ServiceAddresses(self.writer, wake, clock)
        authenticator = Authenticator(self._tokens, self.store, authorizer)
        self._handlers = Handlers(self._objects, Reviews(self._tokens, self.store, authorizer))
        subresources = Subresources(
            self._handlers,
            self._tokens,
            self._log_answer,
        )
        self._server = ApiServer(
            self._definitions, authenticator, authorizer, self._handlers, subresources, self._tokens
        )
        self._http = HttpServer(self.respond)
        self._nodes: Nodes | None = None

    @property
    def port(self) -> int:
        return self._http.port

    async def start(
        self,
        host: str,
        port: int,
        tls: ssl.SSLContext,
        nodes: Sequence[Document],
        devices: SimulatedDevices = NO_DEVICES,
    ) -> None:
        """Raises OSError if the address cannot be used. Devices must be `accepted`."""
        self.prepare(nodes)
        async with AsyncExitStack() as stack:
            await self._http.start(host, port, tls)
            stack.push_async_callback(self._http.stop)
            stack.callback(self._handlers.end_watches)
            self._start_parts(stack, (host, self.port), devices)
            self._stack = stack.pop_all()

    async def start_unheard(
        self, nodes: Sequence[Document] = (), devices: SimulatedDevices = NO_DEVICES
    ) -> None:
        """As `start`, but for requests in this process only: it listens nowhere."""
        self.prepare(nodes)
        async with AsyncExitStack() as stack:
            stack.callback(self._handlers.end_watches)
            self._start_parts(stack, ("127.0.0.1", 0), devices)
            self._stack = stack.pop_all()

    def accepted(self, devices: SimulatedDevices) -> SimulatedDevices:
        """Devices in the form the API gives them; raises a Refusal if they could not be created."""

        def accept(resource: str, template: Document) -> Document:
            definition = self._objects.definition_of(resource)
            options = Options(validation="Strict", dry_run=True)
            shaped = shape(definition, template, options)
            self._objects.create(definition, "", filled(shaped, "node"), options)
            return shaped

        return SimulatedDevices(
            [accept(CLASSES, each) for each in devices.classes],
            [accept(SLICES, each) for each in devices.slices],
        )

    def prepare(self, nodes: Sequence[Document] = ()) -> None:
        """Loads the data and adds what a fresh cluster has; `handle` can be used from then on."""
        if self._data is not None:
            self._data.load(self.store)
        self._custom.start()
        self._fill(nodes)
        self._registrations.start()
        self._flow_conditions.start()
        self._service_addresses.start()

    async def respond(self, request: Request) -> Answer | Stream:
        """Answers a request, whichever way it came."""
        return await self._server.respond(request)

    def handle(self, request: Request) -> Answer | Stream:
        """The same at once. Raises Unanswered if others have to be asked about it."""
        return self._server.handle(request)

    def admit(self, headers: Mapping[str, list[str]], verb: str, path: str) -> User:
        """Who sends these headers (named in lower case), if that one may do this to a path of another server.

        Raises the Refusal otherwise.
        """
        return self._server.admit(Request(verb, path, headers), Attributes(verb, path=path))

    def _start_parts(self, stack: AsyncExitStack, server: tuple[str, int], devices: SimulatedDevices) -> None:
        """What works by itself: controllers, nodes and what is done every minute."""
        self._crossing.open()
        stack.push_async_callback(self._webhooks.close)
        is_new = self._data is None or not self._data.setting(_HAS_RUN)
        writer = InternalWriter(self._objects, asks=True)
        controllers = Controllers(writer, ca=self.who.ca, is_new=is_new, clock=self._clock, gates=self._gates)
        controllers.start()
        if self._data is not None and is_new:
            self._data.set(_HAS_RUN, "yes")
        stack.push_async_callback(controllers.stop)
        machine = Machine(
            self.writer,
            folder=self._folder,
            server=server,
            token_for=self._token_for,
            run_images=self._run_images,
            run_namespaces=self._run_namespaces,
            volumes=self._data.volumes if self._data is not None else None,
            clock=self._clock,
        )
        running = self._nodes = Nodes(machine, devices)
        running.start()
        stack.push_async_callback(running.stop)
        sweeping = asyncio.create_task(self._sweeping())
        stack.callback(sweeping.cancel)

    async def stop(self) -> None:
        await self._stack.aclose()

    def connection(self, user: User = SCHEDULER) -> ConnectionConfig:
        """A connection for clients in this process, in any thread, which needs no socket."""
        return ConnectionConfig(server="", local=_Local(self._server, user, self._crossing))

    def scheduler_client(self, user_agent: str) -> SchedulerClient:
        """A client for a scheduler in this process, in any thread."""
        return SchedulerClient(self.connection(), self._objects, self._crossing, user_agent=user_agent)

    def _runs(self, pod: Stored) -> bool:
        return self._nodes is not None and self._nodes.runs(pod)

    def _log_answer(self, pod: Document, query: Query) -> Answer | Stream:
        assert self._nodes is not None, "nothing runs yet"
        return log_answer(self._nodes.logs, pod, query)

    def _fill(self, nodes: Sequence[Document]) -> None:
        """What a fresh cluster has; of what is there already nothing is changed."""
        system = [*system_objects(), *bootstrap_roles(self._gates)]
        system.append(("configmaps", authentication_config(self.who.ca)))
        for resource, document in system:
            self._ensure(resource, document, Options(manager="kube-apiserver"))
        for node in nodes:
            self._ensure("nodes", node, Options())

    def _settle_definitions(self) -> None:
        """Has what custom resource definitions call for written before the next request is answered."""
        if self._settling is None:
            with contextlib.suppress(RuntimeError):  # without an event loop, nobody waits for it
                self._settling = asyncio.get_running_loop().call_soon(self._settle_now)

    def _settle_now(self) -> None:
        self._settling = None
        self._custom.settle()
        self._registrations.settle()
        self._flow_conditions.settle()
        self._service_addresses.settle()

    def _ensure(self, resource: str, document: Document, options: Options) -> None:
        metadata = document["metadata"]
        if self.store.get(resource, metadata.get("namespace", ""), metadata["name"]) is None:
            definition = self._definitions.of_storage(resource)
            assert definition is not None
            shaped = shape(definition, document, options)
            self._objects.create(definition, metadata.get("namespace", ""), shaped, options)

    def _token_for(self, namespace: str, account: str, pod_name: str, pod_uid: str) -> str:
        stored = self.store.get("serviceaccounts", namespace, account)
        uid = stored.document["metadata"]["uid"] if stored is not None else ""
        token, _ = self._tokens.issue(
            namespace, account, uid, seconds=_TOKEN_SECONDS, pod=(pod_name, pod_uid)
        )
        return token

    async def _sweeping(self) -> None:
        while True:
            await asyncio.sleep(_SWEEP_SECONDS)
            self.sweep()

    def sweep(self) -> None:
        """Ends events that were last seen an hour ago, and brings back what a cluster always has."""
        oldest = self._clock() - _EVENT_SECONDS
        for stored in self.store.objects("events"):
            if _last_seen(stored.document) < oldest:
                self.writer.delete("events", stored)
        for resource, document in system_objects():
            with contextlib.suppress(Refusal):  # of a namespace that ends, or an address somebody else has
                self._ensure(resource, document, Options(manager="kube-apiserver"))


class _Local:
    """The API server for clients in the same process, as one user."""

    def __init__(self, server: ApiServer, user: User, crossing: Crossing) -> None:
        self._server = server
        self._user = user
        self._crossing = crossing

    async def ask(
        self, method: str, target: str, body: bytes, headers: Mapping[str, list[str]]
    ) -> LocalAnswer | AsyncGenerator[bytes, None]:
        if body and "fieldValidation=" not in target:
            # What comes from this process was not typed by anybody.
            target += f"{'&' if '?' in target else '?'}fieldValidation=Ignore"
        request = Request(method, target, headers, body, self._user)
        try:
            answer = await self._crossing.call(self._server.handle, request)
        except Unanswered:
            answer = await self._crossing.run(self._server.respond, request)
        if isinstance(answer, Answer):
            return LocalAnswer(answer.status, answer.body)
        return self._crossing.stream(answer.chunks)


def _last_seen(event: Document) -> float:
    """An event that tells of something long ago is new all the same."""
    series = event.get("series") or {}
    created = event["metadata"].get("creationTimestamp")
    times = (created, series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return max((seconds_of(text) for text in times if text), default=0.0)
