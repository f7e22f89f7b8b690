"""The objects of a running cluster, read once: for questions that no running scheduler can be asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from moorage.api.kinds import WATCHED
from moorage.api.meta import Object
from moorage.cli.setup import BadInput
from moorage.cli.terminal.printable import printable
from moorage.client.connection import from_kubeconfig
from moorage.client.errors import ApiError, ConfigurationError, Forbidden, NotFound
from moorage.client.http import HttpClient
from moorage.client.loops import loop_factory
from moorage.client.resources import Resource
from moorage.contrib.objects import CUSTOM_KINDS
from moorage.version import user_agent


def kubeconfigs(given: str | None) -> list[str]:
    """The files that may be meant, the one of `moorage up` last."""
    if given:
        return [given]
    listed = [each for each in os.environ.get("KUBECONFIG", "").split(os.pathsep) if each]
    return [*listed, str(Path.home() / ".moorage" / "kubeconfig")]


def read_cluster(given: str | None, also: Iterable[type[Object]] = ()) -> tuple[list[Object], str]:
    """All that decides in the cluster of a kubeconfig, with its user's rights, and the cluster's address.

    `also` are further kinds, left out where they are not served or may not be read.

    Raises BadInput.
    """
    files = kubeconfigs(given)
    path = next((each for each in files if Path(each).exists()), files[0])
    try:
        connection = from_kubeconfig(path)
    except ConfigurationError as error:
        raise BadInput(f"{error}; start `moorage up`, or name a cluster with --kubeconfig") from None

    async def read() -> list[Object]:
        found: list[Object] = []
        async with HttpClient(connection, user_agent=user_agent("moorage", "cli"), qps=-1) as client:
            for row in WATCHED:
                if row.type is Object:
                    continue
                try:
                    found += (await client.list(Resource.of(row.type))).items
                except NotFound:
                    continue  # it serves none
                except Forbidden:
                    raise BadInput(
                        f"{connection.server}: may not list {row.resource}; use --kubeconfig of one who may"
                    ) from None
            for kind in (*CUSTOM_KINDS, *also):
                with suppress(NotFound, Forbidden):  # most clusters have none
                    found += (await client.list(Resource.of(kind))).items
        return found

    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(read()), connection.server
    except ApiError as error:
        text = printable(" ".join(str(error).split()))
        raise BadInput(f"{connection.server}: {text}; is the cluster of {path} running?") from None
