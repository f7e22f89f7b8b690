"""What the cluster's config map says about certificates; that it is followed is in tests/controlplane."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, cast

import pytest

from moorage.api.meta import ObjectMeta
from moorage.server.authentication import ClientTrust, FrontProxyHeaders
from moorage.server.client_trust import NAME, NAMESPACE, ClusterTrust, ConfigMap
from tests.server.certificates import Authority

GIVEN = FrontProxyHeaders(username=["given"])


class World:
    def __init__(self, folder: Path, **taken: bool) -> None:
        self.pem = [Authority(folder / name).file.read_text() for name in ("one", "two")]
        self.trust = ClientTrust(headers=GIVEN)
        self.changes = 0
        self._cluster = ClusterTrust(cast(Any, None), self.trust, self._changed, **taken)

    def say(self, **data: str) -> None:
        named = {key.replace("_", "-"): value for key, value in data.items()}
        self._cluster.use(ConfigMap(metadata=ObjectMeta(name=NAME, namespace=NAMESPACE), data=named))

    def known(self) -> list[str | None]:
        both = (self.trust.clients, self.trust.front_proxies)
        return [None if each is None else each.pem.decode() for each in both]

    def _changed(self) -> None:
        self.changes += 1


def test_both_authorities_and_the_headers_are_taken(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say(
        client_ca_file=world.pem[0],
        requestheader_client_ca_file=world.pem[1],
        requestheader_username_headers='["X-Remote-User"]',
        requestheader_uid_headers="null",
        requestheader_group_headers='["X-Remote-Group", "X-Other"]',
        requestheader_allowed_names="[]",
    )
    assert (world.known(), world.changes) == (world.pem, 1)
    assert world.trust.headers == (["X-Remote-User"], [], ["X-Remote-Group", "X-Other"], [], [])


def test_what_flags_have_said_is_left_alone(tmp_path: Path) -> None:
    world = World(tmp_path, front_proxies=False)
    world.say(
        client_ca_file=world.pem[0],
        requestheader_client_ca_file=world.pem[1],
        requestheader_username_headers='["X-Remote-User"]',
    )
    assert world.known() == [world.pem[0], None]
    assert world.trust.headers == GIVEN
    world = World(tmp_path, clients=False)
    world.say(client_ca_file=world.pem[0], requestheader_client_ca_file=world.pem[1])
    assert world.known() == [None, world.pem[1]]


def test_the_same_again_changes_nothing(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.say(client_ca_file=world.pem[0])
    before = world.trust.clients
    world.say(client_ca_file=world.pem[0])
    assert world.trust.clients is before
    assert world.changes == 1


def test_what_is_missing_or_broken_leaves_what_was_known(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(tmp_path)
    world.say(client_ca_file=world.pem[0], requestheader_username_headers='["X-Remote-User"]')
    world.say()
    assert world.known() == [world.pem[0], None]
    assert world.trust.headers == FrontProxyHeaders([], [], [], [], [])
    world.say(client_ca_file="broken", requestheader_username_headers='"no list"')
    assert world.known() == [world.pem[0], None]
    problems = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert problems == [
        "A part of a config map cannot be used",
        "The headers in a config map cannot be used",
    ]
