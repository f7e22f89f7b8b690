"""Whose certificates count: what flags and the cluster say about it, followed as it changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import ClassVar, TypeVar

import msgspec

from moorage.api.meta import Object
from moorage.client.errors import ApiError, Forbidden, NotFound
from moorage.client.http import WATCH_SECONDS, HttpClient, Listing
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from moorage.client.watching import Change
from moorage.framework.logger import Logger
from moorage.server.authentication import ClientTrust, FrontProxyHeaders
from moorage.server.authorities import Authorities, describe

NAMESPACE = "kube-system"
NAME = "extension-apiserver-authentication"
_ROLE = "extension-apiserver-authentication-reader"

log = Logger(__name__)

T = TypeVar("T", bound=Object)


class ConfigMap(Object, kw_only=True):
    resource: ClassVar[str] = "configmaps"
    kind: ClassVar[str] = "ConfigMap"

    data: dict[str, str] = {}


class LookupFailed(Exception):
    """The cluster could not be asked; the text says what to do."""


class ClusterTrust:
    """Takes from the cluster whom its API server trusts.

    The API server keeps it in a config map. What that says about clients or about front proxies is left
    alone where flags have said it.
    """

    def __init__(
        self,
        client: HttpClient,
        trust: ClientTrust,
        changed: Callable[[], object],
        *,
        clients: bool = True,
        front_proxies: bool = True,
    ) -> None:
        self._client = client
        self._trust = trust
        self._changed = changed
        self._clients, self._front_proxies = clients, front_proxies

    async def look_up(self) -> None:
        """Asks once. There may be no such config map; raises LookupFailed if it cannot be read."""
        try:
            found = await self._client.get(Resource.of(ConfigMap), NAME, namespace=NAMESPACE)
        except NotFound:
            return
        except Forbidden as error:
            raise LookupFailed(
                f"{error}; allow it with `kubectl create rolebinding -n {NAMESPACE} NAME --role={_ROLE} "
                "--serviceaccount=NAMESPACE:NAME`"
            ) from None
        except (ApiError, OSError) as error:
            raise LookupFailed(str(error)) from None
        self.use(found)

    async def follow(self) -> None:
        """Never returns; ends by cancellation."""
        informer = Informer(
            _InNamespace(self._client),
            Resource.of(ConfigMap),
            added=self.use,
            updated=lambda old, new: self.use(new),
            deleted=lambda old: None,  # what it said stays true
            field_selector=f"metadata.name={NAME}",
        )
        await informer.run()

    def use(self, found: ConfigMap) -> None:
        """Each part that can be read replaces what was known; what cannot is told."""
        before = (self._trust.clients, self._trust.front_proxies)
        if self._clients:
            self._trust.clients = _authorities(found, "client-ca-file", self._trust.clients)
        if self._front_proxies:
            self._trust.front_proxies = _authorities(
                found, "requestheader-client-ca-file", self._trust.front_proxies
            )
            self._trust.headers = _headers(found, self._trust.headers)
        if (self._trust.clients, self._trust.front_proxies) != before:
            self._changed()


def _authorities(found: ConfigMap, key: str, known: Authorities | None) -> Authorities | None:
    pem = found.data.get(key, "").encode()
    if not pem or (known is not None and known.pem == pem):
        return known
    try:
        authorities = Authorities(pem)
    except ValueError as error:
        log.error(error, "A part of a config map cannot be used", configMap=found.key, part=key)
        return known
    for certificate in authorities.certificates:
        log.info(2, "Loaded", what=f"{key} of {found.key}", detail=describe(certificate))
    return authorities


def _headers(found: ConfigMap, known: FrontProxyHeaders) -> FrontProxyHeaders:
    try:
        return FrontProxyHeaders(
            username=_names(found, "requestheader-username-headers"),
            uid=_names(found, "requestheader-uid-headers"),
            group=_names(found, "requestheader-group-headers"),
            extra_prefix=_names(found, "requestheader-extra-headers-prefix"),
            allowed_names=_names(found, "requestheader-allowed-names"),
        )
    except msgspec.DecodeError as error:
        log.error(error, "The headers in a config map cannot be used", configMap=found.key)
        return known


def _names(found: ConfigMap, key: str) -> list[str]:
    text = found.data.get(key)
    return msgspec.json.decode(text, type=list[str] | None) or [] if text else []


class _InNamespace:
    """The client for an informer that may read one namespace only."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def list(
        self,
        resource: Resource[T],
        *,
        field_selector: str = "",
        known: Callable[[T], T] = lambda item: item,
    ) -> Listing[T]:
        return await self._client.list(
            resource, namespace=NAMESPACE, field_selector=field_selector, known=known
        )

    def watch(
        self,
        resource: Resource[T],
        *,
        resource_version: str,
        field_selector: str = "",
        timeout_seconds: int = WATCH_SECONDS,
        heard: Callable[[], object] = lambda: None,
    ) -> AsyncGenerator[Change[T], None]:
        return self._client.watch(
            resource,
            resource_version=resource_version,
            field_selector=field_selector,
            namespace=NAMESPACE,
            timeout_seconds=timeout_seconds,
            heard=heard,
        )
