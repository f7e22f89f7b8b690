"""With which certificates `moorage run` serves, and to whom."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack, suppress
from typing import Any

from moorage.cli.running.options import RunOptions
from moorage.cli.setup import BadInput
from moorage.client.connection import find
from moorage.client.errors import ConfigurationError
from moorage.client.http import HttpClient
from moorage.client.observer import ClientObserver
from moorage.framework.logger import Logger
from moorage.process.assembly import USER_AGENT
from moorage.server.access import Access
from moorage.server.authentication import Authentication, ClientTrust, FrontProxyHeaders
from moorage.server.authorities import Authorities, describe
from moorage.server.client_trust import ClusterTrust, LookupFailed
from moorage.server.reviews import ApiReviewer
from moorage.server.tls import (
    DEFAULT_MIN_VERSION,
    KeyPair,
    NamedPair,
    TlsContexts,
    TlsError,
    TlsSettings,
    self_signed,
)
from moorage.server.watched_files import WatchedFiles

REVIEW_SECONDS = 10.0
LOOKUP_SECONDS = 1.0  # what can be done without does not hold up the start

log = Logger(__name__)


class RunSecurity:
    """Certificates and permissions as the flags say; both follow what changes until the stack is closed."""

    def __init__(self, options: RunOptions, stack: AsyncExitStack, observer: ClientObserver) -> None:
        self._options = options
        self._stack = stack
        self._observer = observer
        self._files = WatchedFiles()
        headers = _front_proxy_headers(options)
        # The flags go with the authority of their own; to that of the cluster belongs what the cluster says.
        self._trust = ClientTrust(
            headers=headers if options.requestheader_client_ca_file else FrontProxyHeaders()
        )

    async def open(self) -> tuple[TlsContexts, Access]:
        options = self._options
        authentication = await self._client("authentication", options.authentication_kubeconfig)
        authorization = await self._client("authorization", options.authorization_kubeconfig)
        given = bool(options.client_ca_file), bool(options.requestheader_client_ca_file)
        looks_up = authentication is not None and not options.authentication_skip_lookup and not all(given)
        contexts = self._contexts(asks_for_certificates=looks_up or any(given))
        self._take_authorities_from_files(contexts)
        if authentication is not None and looks_up:
            await self._look_up(authentication, contexts)
        self._run(self._files.follow())
        tokens = None if authentication is None else ApiReviewer(authentication)
        ttl = options.seconds("authentication-token-webhook-cache-ttl")
        access = Access(
            Authentication(self._trust, tokens, token_ttl=ttl),
            None if authorization is None else ApiReviewer(authorization),
            always_allow_paths=[path for path in options.authorization_always_allow_paths.split(",") if path],
            allowed_ttl=options.seconds("authorization-webhook-cache-authorized-ttl"),
            denied_ttl=options.seconds("authorization-webhook-cache-unauthorized-ttl"),
        )
        return contexts, access

    def _contexts(self, *, asks_for_certificates: bool) -> TlsContexts:
        options = self._options
        settings = TlsSettings(
            options.tls_min_version or DEFAULT_MIN_VERSION, options.tls_cipher_suites, asks_for_certificates
        )
        settings.check()
        pem = self_signed()
        contexts = TlsContexts(settings, KeyPair(pem, pem))
        certificate, key = options.tls_cert_file, options.tls_private_key_file
        if bool(certificate) != bool(key):
            raise TlsError("--tls-cert-file and --tls-private-key-file must be given together")
        if certificate and key:

            def use(certificate: bytes, key: bytes) -> str:
                pair = KeyPair(certificate, key)
                contexts.use(pair)
                return describe(pair.chain[0])

            self._files.use("--tls-cert-file, --tls-private-key-file", [certificate, key], use)
        for place, text in enumerate(options.tls_sni_cert_key):
            self._use_for_names(contexts, place, NamedPair(text))
        return contexts

    def _use_for_names(self, contexts: TlsContexts, place: int, named: NamedPair) -> None:
        def use(certificate: bytes, key: bytes) -> str:
            pair = KeyPair(certificate, key)
            contexts.use_for_names(place, pair, named.names)
            return describe(pair.chain[0])

        self._files.use("--tls-sni-cert-key", [named.certificate_file, named.key_file], use)

    def _take_authorities_from_files(self, contexts: TlsContexts) -> None:
        trust = self._trust

        def use_for_clients(pem: bytes) -> str:
            trust.clients = Authorities(pem)
            contexts.hint(trust.clients, trust.front_proxies)
            return "; ".join(map(describe, trust.clients.certificates))

        def use_for_front_proxies(pem: bytes) -> str:
            trust.front_proxies = Authorities(pem)
            contexts.hint(trust.clients, trust.front_proxies)
            return "; ".join(map(describe, trust.front_proxies.certificates))

        if file := self._options.client_ca_file:
            self._files.use("--client-ca-file", [file], use_for_clients)
        if file := self._options.requestheader_client_ca_file:
            self._files.use("--requestheader-client-ca-file", [file], use_for_front_proxies)

    async def _look_up(self, client: HttpClient, contexts: TlsContexts) -> None:
        trust = self._trust
        in_cluster = ClusterTrust(
            client,
            trust,
            lambda: contexts.hint(trust.clients, trust.front_proxies),
            clients=not self._options.client_ca_file,
            front_proxies=not self._options.requestheader_client_ca_file,
        )
        tolerates_failure = self._options.authentication_tolerate_lookup_failure is not False
        try:
            async with asyncio.timeout(LOOKUP_SECONDS if tolerates_failure else None):
                await in_cluster.look_up()
        except (LookupFailed, TimeoutError) as error:
            if not tolerates_failure:
                raise BadInput(
                    f"--authentication-tolerate-lookup-failure=false: the cluster does not say whose "
                    f"certificates count: {error}"
                ) from None
            log.warning(
                "The cluster does not say whose certificates count; until it does, callers need tokens",
                err=str(error) or "no answer yet",
            )
        self._run(in_cluster.follow())

    async def _client(self, what: str, kubeconfig: str | None) -> HttpClient | None:
        """Who answers for callers: the API server of the kubeconfig, or of the pod this runs in."""
        try:
            config = find(kubeconfig or "")
        except ConfigurationError as error:
            if kubeconfig:
                raise BadInput(str(error)) from None
            effect = {
                "authentication": "no caller can be told from another by token or by the cluster's word",
                "authorization": "only the open paths are served",
            }
            log.warning(f"No --{what}-kubeconfig: {effect[what]}", err=str(error))
            return None
        client = HttpClient(
            config,
            qps=-1,
            user_agent=USER_AGENT,
            request_seconds=REVIEW_SECONDS,
            observer=self._observer,
        )
        return await self._stack.enter_async_context(client)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Does work beside everything else until the stack is closed."""
        task = asyncio.create_task(work)

        async def end() -> None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

        self._stack.push_async_callback(end)


def _front_proxy_headers(options: RunOptions) -> FrontProxyHeaders:
    lists = {
        name: getattr(options, f"requestheader_{name}")
        for name in (
            "username_headers",
            "uid_headers",
            "group_headers",
            "extra_headers_prefix",
            "allowed_names",
        )
    }
    for name, values in lists.items():
        if any(not value.strip() for value in values):
            raise BadInput(f"--requestheader-{name.replace('_', '-')}: a value is empty; leave it out")
    uids = lists["uid_headers"]
    if uids and "x-remote-uid" not in (value.lower() for value in uids):
        raise BadInput("--requestheader-uid-headers: X-Remote-Uid is missing; front proxies send it")
    return FrontProxyHeaders(
        lists["username_headers"],
        uids,
        lists["group_headers"],
        lists["extra_headers_prefix"],
        lists["allowed_names"],
    )
