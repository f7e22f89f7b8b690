"""Asking a running scheduler over HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import quote, urlsplit

import msgspec

from moorage.cli.insight.live_objects import kubeconfigs
from moorage.cli.insight.options import Whom
from moorage.cli.setup import BadInput
from moorage.cli.terminal.printable import printable
from moorage.client.connection import ConnectionConfig, from_kubeconfig
from moorage.client.errors import ApiError, ConfigurationError, Forbidden, NotFound, Unauthorized, Unreachable
from moorage.client.http import HttpClient
from moorage.client.loops import loop_factory
from moorage.version import user_agent

Document = dict[str, Any]

PREFIX = "/insight/v1"
OF_UP = ".scheduler"
"""What `moorage up` adds to the name of a kubeconfig for the file with its scheduler's address."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PAGE = 1000
ANSWER_SECONDS = 60.0


class Place(NamedTuple):
    """Where a scheduler is, and where that was found out."""

    connection: ConnectionConfig
    origin: str
    """The file that `moorage up` wrote; empty if the address was given."""


class SchedulerApi:
    """The HTTP API of a scheduler, open for the length of a `with` block; what fails is BadInput."""

    def __init__(self, place: Place, *, seconds: float = ANSWER_SECONDS) -> None:
        self._place = place
        self._seconds = seconds
        self._runner = asyncio.Runner(loop_factory=loop_factory())
        self._client: HttpClient | None = None

    @property
    def server(self) -> str:
        return self._place.connection.server

    def __enter__(self) -> Self:
        try:
            client = HttpClient(
                self._place.connection,
                user_agent=user_agent("moorage", "cli"),
                qps=-1,
                request_seconds=self._seconds,
            )
            with self._in_one_line():
                self._runner.run(client.__aenter__())
        except BaseException:
            self._runner.close()
            raise
        self._client = client
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._client is not None:
            self._runner.run(self._client.close())
        self._runner.close()

    def get(self, path: str, **params: str) -> Document:
        """The document at a path below the prefix."""
        return self._ask("GET", PREFIX + path, None, params)

    def config(self) -> Document:
        """The configuration that the scheduler runs with; raises NotKnown where it tells nobody."""
        found: Document = self._ask("GET", "/configz", None, {})["componentconfig"]
        return found

    def post(self, path: str, body: Document) -> Document:
        return self._ask("POST", PREFIX + path, body, {})

    def all_rows(self, path: str, field: str, **params: str) -> Document:
        """As `get`, with all pages of a list as one."""
        first = page = self.get(path, limit=str(_PAGE), **params)
        while page.get("continue"):
            page = self.get(path, limit=str(_PAGE), **{**params, "continue": page["continue"]})
            first[field] = [*first[field], *page[field]]
        first.pop("continue", None)
        return first

    def pod_path(self, key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"/pods/{quote(namespace, safe='')}/{quote(name, safe='')}"

    def _ask(self, method: str, path: str, body: Document | None, params: dict[str, str]) -> Document:
        assert self._client is not None
        with self._in_one_line():
            answer = self._runner.run(
                self._client.request_json(method, path, body, {k: v for k, v in params.items() if v})
            )
        if not isinstance(answer, dict):
            raise BadInput(f"{self.server}: answers what no Moorage scheduler would; is it one?")
        return answer

    @contextmanager
    def _in_one_line(self) -> Iterator[None]:
        try:
            yield
        except NotFound as error:
            raise NotKnown(printable(error.message)) from None
        except (ApiError, ConfigurationError) as error:
            raise BadInput(self.problem(error)) from None

    def problem(self, error: ApiError | ConfigurationError) -> str:
        """What went wrong and what to do about it, in one line."""
        text = printable(" ".join(str(error).split()))
        if isinstance(error, Unauthorized):
            remedy = "give one of the cluster's with --token or --token-file"
            return f"{self.server}: does not know this token (401); {remedy}"
        if isinstance(error, Forbidden):
            return (
                f"{self.server}: {text} (403); it takes a ClusterRole with the nonResourceURL "
                f"{PREFIX}/* and the verbs get and post"
            )
        if isinstance(error, Unreachable):
            if "certificate" in text.lower():
                remedy = "give a kubeconfig with its authority, or --insecure-skip-tls-verify"
                return f"{self.server}: {text}; {remedy}"
            if self._place.origin:
                return (
                    f"{self.server}: {text}; the cluster of {self._place.origin} is gone: start `moorage up`"
                )
            return f"{self.server}: {text}; is a scheduler listening there?"
        return f"{self.server}: {text}"


class NotKnown(BadInput):
    """The scheduler knows nothing under that name."""


def find(asked: Whom) -> Place:
    """The scheduler that is meant; raises BadInput if it cannot be told."""
    if asked.scheduler:
        return Place(_given(asked), "")
    if asked.insecure_skip_tls_verify:
        raise BadInput(
            "--insecure-skip-tls-verify: goes with --scheduler; the one of `moorage up` has no TLS"
        )
    files = [Path(f"{path}{OF_UP}") for path in kubeconfigs(asked.kubeconfig)]
    file = next((each for each in files if each.exists()), None)
    if file is None:
        raise BadInput(
            f"no scheduler is running here: there is no {' and no '.join(map(str, files))}; start one with "
            "`moorage up`, or name one with --scheduler URL"
        )
    connection = _of_up(file)
    return Place(_with_token(connection, asked), str(file))


class _Written(msgspec.Struct):
    url: str
    token: str


def _of_up(file: Path) -> ConnectionConfig:
    try:
        written = msgspec.json.decode(file.read_bytes(), type=_Written)
    except OSError as error:
        raise BadInput(
            f"{file}: cannot be read: {error.strerror}; it belongs to who started the cluster"
        ) from None
    except msgspec.DecodeError:
        raise BadInput(
            f"{file}: is not what `moorage up` writes; start it again, or give --scheduler"
        ) from None
    return ConnectionConfig(_url(written.url, str(file)), token=written.token)


def _given(asked: Whom) -> ConnectionConfig:
    server = _url(asked.scheduler or "", "--scheduler")
    connection = ConnectionConfig(server)
    if asked.kubeconfig or not (asked.token or asked.token_file):
        connection = _with_kubeconfig(connection, asked)
    if asked.insecure_skip_tls_verify:
        connection = replace(connection, insecure=True, ca_data=b"", ca_file="")
    return _with_token(connection, asked)


def _with_kubeconfig(connection: ConnectionConfig, asked: Whom) -> ConnectionConfig:
    """Credentials and authorities of a kubeconfig; they are not sent over the network unencrypted."""
    parts = urlsplit(connection.server)
    if parts.scheme != "https" and parts.hostname not in _LOOPBACK:
        return connection
    try:
        known = from_kubeconfig(asked.kubeconfig)
    except ConfigurationError as error:
        if asked.kubeconfig or os.environ.get("KUBECONFIG"):
            raise BadInput(str(error)) from None
        return connection
    return replace(known, server=connection.server, proxy_url="", tls_server_name="")


def _with_token(connection: ConnectionConfig, asked: Whom) -> ConnectionConfig:
    if asked.token and asked.token_file:
        raise BadInput("--token-file: cannot be used beside --token; give one of them")
    if not asked.token and not asked.token_file:
        return connection
    token = asked.token or ""
    if asked.token_file:
        try:
            token = Path(asked.token_file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is no text"
            raise BadInput(
                f"--token-file: {asked.token_file}: cannot be read: {why}; check the path"
            ) from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise BadInput(
            f"{'--token' if asked.token else '--token-file'}: is no bearer token; give it as it is"
        )
    return replace(
        connection,
        token=token,
        token_file="",
        username="",
        password="",
        certificate=None,
        certificate_files=None,
        exec=None,
        impersonate=None,
    )


def _url(given: str, where: str) -> str:
    url = given if "://" in given else f"https://{given}"
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise BadInput(f"{where}: '{printable(given)}' is no address; write it like https://10.0.0.7:10259")
    return url.rstrip("/")
