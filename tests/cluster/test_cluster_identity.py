"""What a cluster is known by, and for how long."""

from __future__ import annotations

from itertools import count
from pathlib import Path

from moorage.cluster.base.data_file import DataFile
from moorage.cluster.embedded import Identity, identity

LOOPBACK, OTHER = "127.0.0.1", "192.0.2.1"


def test_it_lasts_as_long_as_the_data(tmp_path: Path) -> None:
    made = count()

    def known_at(address: str) -> Identity:
        data = DataFile(tmp_path / "cluster")
        found = identity(data, address, lambda: f"certificate {next(made)}".encode())
        data.close()
        return found

    first = known_at(LOOPBACK)
    assert known_at(LOOPBACK) == first
    elsewhere = known_at(OTHER)
    assert (first.certificate, elsewhere.certificate) == (b"certificate 0", b"certificate 1")
    assert (elsewhere.signing_key, elsewhere.admin_token) == (first.signing_key, first.admin_token)
    assert known_at(LOOPBACK) == first


def test_without_data_every_cluster_is_new() -> None:
    one, other = (identity(None, LOOPBACK, lambda: b"certificate") for _ in range(2))
    assert one.admin_token != other.admin_token
    assert one.signing_key != other.signing_key
