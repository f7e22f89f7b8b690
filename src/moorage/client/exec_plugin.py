"""Credentials that a program prints (client.authentication.k8s.io)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from moorage.client.credentials import ClientCertificate, Identity, bearer
from moorage.client.errors import ConfigurationError
from moorage.client.observer import ClientObserver

VERSIONS = tuple(f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1"))
RUN_SECONDS = 60.0

NO_ERROR, FAILED = "no_error", "plugin_execution_error"
NOT_FOUND, INTERNAL_ERROR = "plugin_not_found_error", "client_internal_error"
"""How a run of the program ended, in the words of client-go."""


@dataclass(frozen=True)
class ExecPlugin:
    """How to run the program. `cluster` is what it is told of the cluster, if it wants to know."""

    command: str
    api_version: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    cluster: dict[str, Any] | None = field(default=None, repr=False)
    origin: str = ""  # the file and the field that name the program, for messages


class _Printed(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Printed | None = None


class ExecCredentials:
    """Runs the program when credentials are first needed, when they expire and when they are rejected."""

    def __init__(
        self,
        plugin: ExecPlugin,
        fixed: Identity = Identity(),  # noqa: B008 - frozen
        *,
        observer: ClientObserver | None = None,
        clock: Callable[[], float] = time.time,
        seconds: float = RUN_SECONDS,
    ) -> None:
        self._plugin = plugin
        self._fixed = fixed
        self._observer = observer
        self._clock = clock
        self._seconds = seconds
        self._ended = (1, INTERNAL_ERROR)  # the exit code of the last run, and what kind of end it was
        self._told_of: ClientCertificate | None = None
        self._valid_since: float | None = None
        self._current: Identity | None = None
        self._expires: float | None = None
        self._running = asyncio.Lock()

    async def identity(self) -> Identity:
        if (current := self.at_hand()) is not None:
            return current
        async with self._running:
            if (current := self.at_hand()) is None:  # unless another task has run it meanwhile
                # A thread and not an asyncio subprocess: it works in event loops of any thread and kind.
                try:
                    printed = await asyncio.to_thread(self._run)
                finally:
                    if self._observer is not None:
                        self._observer.program_ran(*self._ended)
                current = self._take(printed)
            return current

    def rejected(self, identity: Identity) -> bool:
        if identity is self._current:
            self._current = None
        return True

    def at_hand(self) -> Identity | None:
        if self._expires is not None and self._clock() >= self._expires:
            return None
        return self._current

    def _take(self, printed: _Printed) -> Identity:
        certificate = self._fixed.certificate
        if printed.client_certificate_data and printed.client_key_data:
            certificate = ClientCertificate(
                printed.client_certificate_data.encode(), printed.client_key_data.encode()
            )
            self._tell_of(certificate)
        authorization = bearer(printed.token) if printed.token else self._fixed.authorization
        expires = printed.expiration_timestamp
        self._expires = None if expires is None else expires.timestamp()
        self._current = Identity(authorization, certificate)
        return self._current

    def _tell_of(self, certificate: ClientCertificate) -> None:
        if self._observer is None or certificate == self._told_of:
            return
        self._told_of = certificate
        from cryptography import x509

        try:
            read = x509.load_pem_x509_certificate(certificate.certificate)
        except ValueError:  # whoever connects with it says what is wrong
            return
        age = None if self._valid_since is None else self._clock() - self._valid_since
        self._observer.certificate_came(read.not_valid_after_utc.timestamp(), age)
        self._valid_since = read.not_valid_before_utc.timestamp()

    def _run(self) -> _Printed:
        plugin = self._plugin
        self._ended = (1, INTERNAL_ERROR)
        spec: dict[str, Any] = {"interactive": False}
        if plugin.cluster is not None:
            spec["cluster"] = plugin.cluster
        request = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
        try:
            done = subprocess.run(
                [plugin.command, *plugin.args],
                env=os.environ | plugin.env | {"KUBERNETES_EXEC_INFO": json.dumps(request)},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._seconds,
                check=False,
            )
        except FileNotFoundError:
            self._ended = (1, NOT_FOUND)
            hint = " ".join(plugin.install_hint.split()) or "install it, or correct its path"
            raise self._problem(f"there is no such program; {hint}") from None
        except subprocess.TimeoutExpired:
            raise self._problem(
                f"it did not end within {self._seconds:g} s; run it by hand to see what it waits for"
            ) from None
        except OSError as error:
            raise self._problem(f"it cannot be run: {error.strerror}") from None
        self._ended = (done.returncode, FAILED if done.returncode else NO_ERROR)
        if done.returncode:
            said = " ".join(done.stderr.decode(errors="replace").split())[-300:]
            raise self._problem(
                f"it failed with exit code {done.returncode}: {said or 'it printed no error'}"
            )
        return self._read(done.stdout)

    def _read(self, output: bytes) -> _Printed:
        try:
            answer = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._problem(f"it did not print an ExecCredential: {error}") from None
        if answer.kind != "ExecCredential" or answer.api_version != self._plugin.api_version:
            raise self._problem(
                f"it printed {answer.api_version or 'no version'} {answer.kind or 'without a kind'}, "
                f"expected {self._plugin.api_version} ExecCredential; make both sides agree on apiVersion"
            )
        printed = answer.status
        if printed is None or not (printed.token or printed.client_certificate_data):
            raise self._problem("it printed neither a token nor a client certificate")
        if bool(printed.client_certificate_data) != bool(printed.client_key_data):
            raise self._problem("it must print clientCertificateData and clientKeyData together")
        return printed

    def _problem(self, text: str) -> ConfigurationError:
        place = f"{self._plugin.origin}: " if self._plugin.origin else ""
        return ConfigurationError(f"{place}{self._plugin.command}: {text}")
