"""What a command says when the scheduler cannot be asked, or is none."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from moorage.cli.insight.options import Whom
from moorage.cli.insight.scheduler_api import find
from moorage.cli.setup import BadInput
from moorage.client.self_signed import self_signed
from tests.cli.running import refused, run
from tests.controlplane.servers import free_ports


@contextmanager
def answering(
    status: int, text: str, content_type: str = "application/json", tls: ssl.SSLContext | None = None
) -> Iterator[str]:
    """A server that has one answer for everything."""
    loop = asyncio.new_event_loop()
    started: list[str] = []
    ready = threading.Event()

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=status, text=text, content_type=content_type)

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
        await site.start()
        started.append(f"{'https' if tls else 'http'}://127.0.0.1:{runner.addresses[0][1]}")
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait(30)
    try:
        yield started[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)


@pytest.fixture(autouse=True)
def no_kubeconfig(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


ANSWERS = {
    "another server": (404, "page not found", "text/plain", "has no insight to ask; it takes a Moorage"),
    "broken": (
        500,
        '{"kind": "Status", "code": 500, "message": "boom\\u001b[2J"}',
        "application/json",
        "boom\\x1b[2J",
    ),
    "no JSON": (200, "<html>", "text/html", "the answer cannot be read"),
    "no object": (200, "[]", "application/json", "answers what no Moorage scheduler would; is it one?"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_that_help_nobody(case: str) -> None:
    status, text, content_type, expected = ANSWERS[case]
    with answering(status, text, content_type) as url:
        line = refused(run("explain", "p", "--scheduler", url, "--token", "t"))
    assert line.startswith(f"{url}: ")
    assert expected in line


def test_a_certificate_that_nobody_vouches_for(tmp_path: Path) -> None:
    certificate = tmp_path / "server.pem"
    certificate.write_bytes(self_signed())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with answering(404, "page not found", "text/plain", tls) as url:
        line = refused(run("explain", "p", "--scheduler", url, "--token", "t"))
        assert line.endswith("give a kubeconfig with its authority, or --insecure-skip-tls-verify")
        asked = ("--scheduler", url, "--token", "t", "--insecure-skip-tls-verify")
        assert "has no insight to ask" in refused(run("explain", "p", *asked))


def test_nobody_listens() -> None:
    (port,) = free_ports(1)
    for scheme in ("http", "https"):
        line = refused(run("pending", "--scheduler", f"{scheme}://127.0.0.1:{port}"))
        assert line.endswith("connection refused; is a scheduler listening there?")


def test_a_cluster_that_is_gone(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    file = tmp_path / "kubeconfig.scheduler"
    file.write_text(json.dumps({"url": f"http://127.0.0.1:{port}", "token": "t"}))
    line = refused(run("top", "--kubeconfig", tmp_path / "kubeconfig"))
    assert line.endswith(f"connection refused; the cluster of {file} is gone: start `moorage up`")


WRONG: dict[str, tuple[list[str], str]] = {
    "url": (["--scheduler", "ftp://x"], "--scheduler: 'ftp://x' is no address; write it like https://"),
    "token file": (["--token-file", "/nowhere"], "--token-file: /nowhere: cannot be read: No such file"),
    "both tokens": (["--token", "a", "--token-file", "b"], "cannot be used beside --token"),
    "no token": (["--token", "two words"], "--token: is no bearer token"),
    "no TLS": (["--insecure-skip-tls-verify"], "goes with --scheduler"),
    "nothing": ([], "no scheduler is running here: there is no "),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_options_are_one_line(case: str, tmp_path: Path) -> None:
    options, expected = WRONG[case]
    if "token" in case:
        (tmp_path / "kubeconfig.scheduler").write_text('{"url": "http://127.0.0.1:1", "token": "t"}')
        options = [*options, "--kubeconfig", str(tmp_path / "kubeconfig")]
    assert expected in refused(run("pending", *options))


def test_a_file_that_moorage_up_did_not_write(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig.scheduler").write_text("nonsense")
    assert "is not what `moorage up` writes" in refused(run("top", "--kubeconfig", tmp_path / "kubeconfig"))


KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [
        {"name": "c", "cluster": {"server": "https://10.0.0.1:6443", "certificate-authority-data": ""}}
    ],
    "users": [{"name": "u", "user": {"token": "secret"}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
    "current-context": "x",
}


def test_whom_is_shown_the_credentials_of_a_kubeconfig(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps(KUBECONFIG))

    def token(scheduler: str, token: str | None = None) -> str:
        return find(Whom(scheduler, token, kubeconfig=str(kubeconfig))).connection.token

    assert token("https://10.0.0.7:10259") == "secret"
    assert token("10.0.0.7:10259") == "secret"
    assert token("http://127.0.0.1:80") == "secret"
    assert token("http://10.0.0.7:80") == "", "nothing is sent over the network for all to read"
    assert token("https://10.0.0.7:10259", token="mine") == "mine"
    with pytest.raises(BadInput, match="no such file"):
        find(Whom("https://10.0.0.7", kubeconfig=str(tmp_path / "none")))
