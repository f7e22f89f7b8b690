from __future__ import annotations

from pathlib import Path

import pytest

from moorage.client.connection import find
from moorage.cluster.access.kubeconfig import KubeconfigError, remove, remove_old, write_kubeconfig


def write(path: Path, token: str = "secret") -> None:
    write_kubeconfig(path, server="https://127.0.0.1:1", ca="-----BEGIN CERTIFICATE-----\n", token=token)


def test_it_leads_to_the_cluster_and_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "kubeconfig"
    write(path)
    config = find(str(path))
    assert (config.server, config.token) == ("https://127.0.0.1:1", "secret")
    assert config.ca_data == b"-----BEGIN CERTIFICATE-----\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["kubeconfig"], "nothing is left beside it"


def test_the_file_of_an_earlier_cluster_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    assert remove_old(path) == ""
    write(path)
    assert remove_old(path) == "https://127.0.0.1:1"
    assert not path.exists()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "a: b",
        "clusters: {}\ncurrent-context: moorage",
        "clusters: [{name: production}]\ncurrent-context: moorage",
        "clusters: [{name: moorage}, {name: production}]\ncurrent-context: moorage",
        "clusters: [{name: moorage}]\ncurrent-context: moorage",
        "clusters: [{name: moorage, cluster: {server: 'https://a'}}]\ncurrent-context: production",
        "clusters: [{name: moorage, cluster: {server: 5}}]\ncurrent-context: moorage",
        "\x00\x01",
    ],
)
def test_a_file_of_somebody_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(content)
    with pytest.raises(KubeconfigError, match="exists and is not from moorage up; give another file"):
        remove_old(path)
    assert path.read_text() == content


def test_only_the_own_file_is_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    write(path, "of another")
    remove(path, "mine")
    assert path.exists()
    remove(path, "of another")
    assert not path.exists()
    remove(path, "mine")


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KubeconfigError, match="cannot be written"):
        write(tmp_path / "file" / "kubeconfig")
    with pytest.raises(KubeconfigError, match="cannot be read"):
        remove_old(tmp_path)
