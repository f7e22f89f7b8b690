"""Tokens and certificates in files, and programs that print them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from moorage.client.credentials import ClientCertificate, FileCredentials, FixedCredentials, Identity
from moorage.client.errors import ConfigurationError
from moorage.client.exec_plugin import VERSIONS, ExecCredentials, ExecPlugin
from tests.client.certificates import make


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_fixed_credentials_cannot_be_renewed() -> None:
    credentials = FixedCredentials(Identity("Bearer a"))
    assert asyncio.run(credentials.identity()) == Identity("Bearer a")
    assert not credentials.rejected(Identity("Bearer a"))


def test_token_file_is_read_again_after_a_minute(tmp_path: Path) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("one\n")
    credentials = FileCredentials(token_file=str(file), clock=clock)
    first = asyncio.run(credentials.identity())
    file.write_text("two\n")
    clock.now = 59.9
    assert asyncio.run(credentials.identity()) is first
    clock.now = 60.0
    assert asyncio.run(credentials.identity()).authorization == "Bearer two"


def test_unchanged_file_gives_the_same_identity(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    clock = Clock()
    credentials = FileCredentials(token_file=str(tmp_path / "token"), clock=clock)
    first = asyncio.run(credentials.identity())
    clock.now = 61.0
    assert asyncio.run(credentials.identity()) is first


@pytest.mark.parametrize("content", [None, ""])
def test_unreadable_file_leaves_the_last_token(tmp_path: Path, content: str | None) -> None:
    file, clock = tmp_path / "token", Clock()
    file.write_text("one")
    credentials = FileCredentials(token_file=str(file), clock=clock)
    asyncio.run(credentials.identity())
    if content is None:
        file.unlink()
    else:
        file.write_text(content)
    clock.now = 120.0
    assert asyncio.run(credentials.identity()).authorization == "Bearer one"


def test_file_that_was_never_readable_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="absent"):
        asyncio.run(FileCredentials(token_file=str(tmp_path / "absent")).identity())


def test_rejected_token_is_read_again_at_once(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one")
    credentials = FileCredentials(token_file=str(file), clock=Clock())
    first = asyncio.run(credentials.identity())
    assert not credentials.rejected(first)
    file.write_text("two")
    assert credentials.rejected(first)
    assert asyncio.run(credentials.identity()).authorization == "Bearer two"


def test_certificate_files_are_replaced(tmp_path: Path) -> None:
    certificate, key, clock = tmp_path / "crt", tmp_path / "key", Clock()
    certificate.write_bytes(b"c1")
    key.write_bytes(b"k1")
    files = (str(certificate), str(key))
    credentials = FileCredentials(Identity("Bearer a"), certificate_files=files, clock=clock)
    assert asyncio.run(credentials.identity()) == Identity("Bearer a", ClientCertificate(b"c1", b"k1"))
    certificate.write_bytes(b"c2")
    clock.now = 60.0
    assert asyncio.run(credentials.identity()) == Identity("Bearer a", ClientCertificate(b"c2", b"k1"))


# Prints what is in `answer.json` and notes each run with what it was told.
SCRIPT = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path(__file__).parent
with open(folder / "runs", "a") as runs:
    told = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
    print(json.dumps([sys.argv[1:], os.environ.get("REGION"), told]), file=runs)
print((folder / "answer.json").read_text())
"""


class Program:
    """An exec plugin that a test wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "login"
        self.path.write_text(SCRIPT.format(python=sys.executable))
        self.path.chmod(0o755)

    def prints(self, **status: Any) -> None:
        answer = {"apiVersion": VERSIONS[0], "kind": "ExecCredential", "status": status}
        (self.folder / "answer.json").write_text(json.dumps(answer))

    @property
    def runs(self) -> list[Any]:
        file = self.folder / "runs"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def plugin(self, **given: Any) -> ExecPlugin:
        return ExecPlugin(str(self.path), VERSIONS[0], **given)


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


def test_program_is_told_of_the_cluster_and_run_once(program: Program) -> None:
    program.prints(token="abc")
    cluster = {"server": "https://api"}
    plugin = program.plugin(args=("get", "token"), env={"REGION": "eu"}, cluster=cluster)
    credentials = ExecCredentials(plugin)

    async def both() -> tuple[Identity, Identity]:
        return await asyncio.gather(credentials.identity(), credentials.identity())

    first, second = asyncio.run(both())
    assert first is second and first.authorization == "Bearer abc"
    told = {
        "apiVersion": VERSIONS[0],
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": cluster},
    }
    assert program.runs == [[["get", "token"], "eu", told]]


def test_expired_credentials_are_renewed(program: Program) -> None:
    clock = Clock()
    program.prints(token="one", expirationTimestamp="1970-01-01T00:10:00Z")
    credentials = ExecCredentials(program.plugin(), clock=clock)
    assert asyncio.run(credentials.identity()).authorization == "Bearer one"
    program.prints(token="two")
    clock.now = 599.0
    assert asyncio.run(credentials.identity()).authorization == "Bearer one"
    clock.now = 600.0
    assert asyncio.run(credentials.identity()).authorization == "Bearer two"
    clock.now = 1e9
    assert asyncio.run(credentials.identity()).authorization == "Bearer two"  # it never expires
    assert len(program.runs) == 2


def test_rejected_credentials_are_renewed(program: Program) -> None:
    program.prints(token="one")
    credentials = ExecCredentials(program.plugin())
    first = asyncio.run(credentials.identity())
    program.prints(token="two")
    assert credentials.rejected(first)
    second = asyncio.run(credentials.identity())
    assert second.authorization == "Bearer two"
    assert credentials.rejected(first)  # news from another request that began before
    assert asyncio.run(credentials.identity()) is second


def test_certificates(program: Program) -> None:
    program.prints(clientCertificateData="crt", clientKeyData="key")
    found = asyncio.run(ExecCredentials(program.plugin()).identity())
    assert found == Identity(certificate=ClientCertificate(b"crt", b"key"))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, "it printed neither a token nor a client certificate"),
        ({"clientCertificateData": "crt"}, "clientCertificateData and clientKeyData together"),
        ({"token": 3}, "it did not print an ExecCredential: Expected"),
    ],
)
def test_bad_answers(program: Program, status: dict[str, Any], expected: str) -> None:
    program.prints(**status)
    with pytest.raises(ConfigurationError, match=expected):
        asyncio.run(ExecCredentials(program.plugin(origin="config: exec")).identity())


def test_answer_of_another_version(program: Program) -> None:
    program.prints(token="abc")
    plugin = ExecPlugin(str(program.path), VERSIONS[1], origin="config: exec")
    with pytest.raises(ConfigurationError, match=r"config: exec: .*/v1 ExecCredential, expected .*/v1beta1"):
        asyncio.run(ExecCredentials(plugin).identity())


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo no way >&2; exit 3", "it failed with exit code 3: no way"),
        ("echo hello", "it did not print an ExecCredential"),
        ("exec sleep 30", r"it did not end within 0\.01 s; run it by hand"),
    ],
)
def test_program_that_fails(tmp_path: Path, script: str, expected: str) -> None:
    plugin = ExecPlugin("sh", VERSIONS[0], args=("-c", script))
    seconds = 0.01 if "sleep" in script else 30.0
    with pytest.raises(ConfigurationError, match=expected):
        asyncio.run(ExecCredentials(plugin, seconds=seconds).identity())


def test_missing_program_gives_its_hint() -> None:
    plugin = ExecPlugin("no-such-program", VERSIONS[0], install_hint="get it\nfrom the shop")
    with pytest.raises(ConfigurationError, match="there is no such program; get it from the shop"):
        asyncio.run(ExecCredentials(plugin).identity())


def test_authorities_are_read_again_and_nonsense_leaves_the_last_ones(tmp_path: Path) -> None:
    file, clock = tmp_path / "ca.crt", Clock()
    first, second = (make(name).certificate_pem for name in ("first", "second"))
    file.write_bytes(first)
    credentials = FileCredentials(ca_file=str(file), clock=clock)
    before = asyncio.run(credentials.identity())
    assert before.authorities == first
    file.write_bytes(second[:100])
    assert not credentials.rejected(before)
    file.write_bytes(second)
    assert asyncio.run(credentials.identity()) is before
    assert credentials.rejected(before)
    assert asyncio.run(credentials.identity()).authorities == second
