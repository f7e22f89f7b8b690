"""Files that are replaced while they are in use, as those of mounted secrets are."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from moorage.server.tls import KeyPair, TlsError
from moorage.server.watched_files import LOOK_SECONDS, WatchedFiles
from tests import fake_time
from tests.server.certificates import Authority


class World:
    """A certificate and its key in a folder that a symbolic link leads to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder / "authority")
        self.used: list[str] = []
        self.files = WatchedFiles()
        self.swap("first")
        self.names = [str(folder / "current" / name) for name in ("tls.crt", "tls.key")]

    def write(self, version: str, certificate: str, key: str) -> Path:
        target = self.folder / version
        target.mkdir(exist_ok=True)
        (target / "tls.crt").write_bytes(self.authority.client(certificate).read_bytes())
        (target / "tls.key").write_bytes(self.authority.client(key).read_bytes())
        if certificate == key:
            (target / "tls.crt").write_bytes((target / "tls.key").read_bytes())
        return target

    def swap(self, name: str) -> None:
        """As the kubelet does it: a new folder, and then the link leads there at once."""
        link = self.folder / "next"
        link.symlink_to(self.write(name, name, name))
        link.rename(self.folder / "current")

    def use(self, certificate: bytes, key: bytes) -> str:
        name = KeyPair(certificate, key).chain[0].subject.rfc4514_string()
        self.used.append(name)
        return name

    def look(self) -> None:
        asyncio.run(self.files.look())


@pytest.fixture
def world(tmp_path: Path) -> World:
    found = World(tmp_path)
    found.files.use("--tls-cert-file", found.names, found.use)
    return found


def test_what_has_not_changed_is_left_alone(world: World) -> None:
    world.look()
    assert world.used == ["CN=first"]


def test_a_link_that_leads_elsewhere(world: World) -> None:
    world.swap("second")
    world.look()
    world.look()
    assert world.used == ["CN=first", "CN=second"]


def test_a_pair_that_is_half_written(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.write("first", "second", "third")
    for _ in range(3):
        world.look()
    assert world.used == ["CN=first"]
    [line] = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert line.getMessage().startswith("Changed files cannot be used; what was there before stays in use")
    world.write("first", "second", "second")
    world.look()
    assert world.used == ["CN=first", "CN=second"]
    assert len([record for record in caplog.records if record.levelno >= logging.ERROR]) == 1


def remove(file: Path) -> None:
    file.unlink()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def empty(file: Path) -> None:
    file.write_bytes(b"")


@pytest.mark.parametrize("harm", [remove, cut, empty])
@pytest.mark.parametrize("place", [0, 1])
def test_a_file_that_is_harmed(world: World, harm: Callable[[Path], None], place: int) -> None:
    harm(Path(world.names[place]))
    world.look()
    assert world.used == ["CN=first"]
    world.swap("second")
    world.look()
    assert world.used == ["CN=first", "CN=second"]


def test_what_cannot_be_used_at_the_start_is_an_error(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.pem")
    with pytest.raises(
        TlsError, match=r"--client-ca-file: cannot be used \(.*missing\.pem\): .*No such file"
    ):
        WatchedFiles().use("--client-ca-file", [missing], lambda pem: "")


def test_it_looks_again_and_again(world: World) -> None:
    looked: list[float] = []

    class Watching(WatchedFiles):
        async def look(self) -> None:
            looked.append(fake_time.now())

    async def main() -> None:
        following = asyncio.create_task(Watching().follow())
        await asyncio.sleep(LOOK_SECONDS * 3.5)
        following.cancel()

    fake_time.run(main())
    assert looked == [LOOK_SECONDS, LOOK_SECONDS * 2, LOOK_SECONDS * 3]
