"""Who may ask: `moorage up` and `moorage run`, path by path, each in a process of its own."""

from __future__ import annotations

import http.client
import json
import re
import signal
import ssl
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from moorage.server.insight.api import InsightApi
from tests.controlplane.schedulers import MOORAGE, Api
from tests.controlplane.servers import HOST, Program, free_ports, wait_for
from tests.embedded.clusters import Embedded

STOP_SECONDS = 20.0
PREFIX = "/insight/v1"

PATHS = [
    *(
        (route.method, route.template.format(number=1, namespace="default", name="a"))
        for route in InsightApi(lambda: None).routes
    ),
    *((method, f"{PREFIX}{path}") for method in ("GET", "POST") for path in ("", "/", "/nothing", "/../x")),
    ("POST", f"{PREFIX}/summary"),
    ("PUT", f"{PREFIX}/try"),
    ("DELETE", f"{PREFIX}/attempts"),
    ("GET", "/insight"),
    ("GET", "/insight/v2/summary"),
    ("GET", "/"),
    ("GET", "/dashboard/nothing.js"),
]
"""Those of the API, and some that are not there."""


class Server(NamedTuple):
    """Where insight is served."""

    url: str
    tokens: dict[str, str]
    process: Program

    def ask(
        self, method: str, path: str, headers: dict[str, str] | None = None, body: str | None = None
    ) -> tuple[int, bytes, http.client.HTTPMessage]:
        place = urlsplit(self.url)
        assert place.hostname is not None
        connection: http.client.HTTPConnection
        if place.scheme == "https":
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection(place.hostname, place.port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            stream = answer.headers.get("Content-Type") == "text/event-stream"
            return answer.status, b"" if stream else answer.read(), answer.headers
        finally:
            connection.close()

    def status(self, method: str, path: str, who: str = "") -> int:
        headers = {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}
        return self.ask(method, path, headers)[0]


@pytest.fixture(scope="module")
def up() -> Iterator[Server]:
    with Embedded("--nodes=2") as cluster:
        written = json.loads(cluster.kubeconfig.with_name("kubeconfig.scheduler").read_text())
        tokens = accounts(cluster) | {"dashboard": written["token"]}
        yield Server(written["url"], tokens, cluster.program)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Embedded("--nodes=2", "--no-scheduler") as cluster:
        tokens = accounts(cluster)
        with running(cluster, tmp_path_factory.mktemp("run"), "--dashboard") as (url, process):
            yield Server(url, tokens, process)


@contextmanager
def running(cluster: Embedded, folder: Path, *flags: str) -> Iterator[tuple[str, Program]]:
    """`moorage run` against an embedded cluster."""
    [port] = free_ports(1)
    file = cluster.kubeconfig
    process = Program(
        MOORAGE,
        (
            "run",
            f"--kubeconfig={file}",
            f"--authentication-kubeconfig={file}",
            f"--authorization-kubeconfig={file}",
            "--leader-elect=false",
            f"--bind-address={HOST}",
            f"--secure-port={port}",
            *flags,
        ),
        folder / "moorage.log",
    )
    server = Server(f"https://{HOST}:{port}", {}, process)

    def ready() -> bool:
        process.check_running()
        try:
            return server.status("GET", "/readyz") == 200
        except OSError:
            return False

    try:
        wait_for("moorage run is ready", ready, seconds=60)
        yield server.url, process
    finally:
        process.stop()


def accounts(cluster: Embedded) -> dict[str, str]:
    """Tokens of callers with all rights, with none, with those of a reader, and with half of them."""
    api = Api(cluster)
    group = "rbac.authorization.k8s.io"

    def create(path: str, kind: str, name: str, **more: Any) -> None:
        version = "v1" if path.startswith("/api/") else f"{group}/v1"
        api.request("POST", path, {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **more})

    for name, verbs in (("nobody", []), ("reader", ["get", "post"]), ("looker", ["get"])):
        create("/api/v1/namespaces/default/serviceaccounts", "ServiceAccount", name)
        if verbs:
            rules = [{"nonResourceURLs": [f"{PREFIX}/*"], "verbs": verbs}]
            create(f"/apis/{group}/v1/clusterroles", "ClusterRole", name, rules=rules)
            role = {"apiGroup": group, "kind": "ClusterRole", "name": name}
            whom = [{"kind": "ServiceAccount", "name": name, "namespace": "default"}]
            path = f"/apis/{group}/v1/clusterrolebindings"
            create(path, "ClusterRoleBinding", name, roleRef=role, subjects=whom)
    tokens = {"admin": cluster.token, "bad": "not-a-token"}
    for name in ("nobody", "reader", "looker"):
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        path = f"/api/v1/namespaces/default/serviceaccounts/{name}/token"
        tokens[name] = api.request("POST", path, asked)["status"]["token"]
    return tokens


@pytest.mark.parametrize("which", ["up", "run"])
def test_callers_without_rights_get_nothing(which: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(which)
    for method, path in PATHS:
        assert server.status(method, path) in (401, 403), (method, path)
        assert server.status(method, path, "bad") == 401, (method, path)
        assert server.status(method, path, "nobody") == 403, (method, path)
        for header in ("Basic YTpi", "Bearer", "bearer  ", f"Token {server.tokens['admin']}", "\xff"):
            status, body, _ = server.ask(method, path, {"Authorization": header})
            assert status in (401, 403), (method, path, header)
            assert json.loads(body)["status"] == "Failure"


@pytest.mark.parametrize("which", ["up", "run"])
def test_callers_with_rights_get_what_they_may(which: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(which)
    for method, path in PATHS:
        if path.startswith(f"{PREFIX}/") and ".." not in path and method in ("GET", "POST"):
            assert server.status(method, path, "reader") not in (401, 403), (method, path)
            allowed = server.status(method, path, "looker") not in (401, 403)
            assert allowed == (method == "GET"), (method, path)
    for who in {"admin", "dashboard"} & server.tokens.keys():
        assert server.status("GET", f"{PREFIX}/summary", who) == 200
        assert server.status("GET", f"{PREFIX}/stream", who) == 200


@pytest.mark.parametrize("which", ["up", "run"])
def test_rights_to_other_paths_are_no_rights_to_these(which: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(which)
    for path in ("/insight/v1x/summary", "/metrics", "/configz"):
        assert server.status("GET", path, "reader") == 403
    for path in ("/insight/v1/../../metrics", "/insight/v1/%2e%2e/%2e%2e/metrics"):
        status, body, _ = server.ask("GET", path, {"Authorization": f"Bearer {server.tokens['reader']}"})
        assert status in (403, 404) and b"scheduler_" not in body


@pytest.mark.parametrize("which", ["up", "run"])
def test_the_page_is_for_everybody_and_tells_nothing(which: str, request: pytest.FixtureRequest) -> None:
    server: Server = request.getfixturevalue(which)
    status, body, headers = server.ask("GET", "/dashboard/")
    assert status == 200 and headers["Content-Security-Policy"].startswith("default-src 'none';")
    for token in server.tokens.values():
        assert token.encode() not in body


def test_the_page_is_served_by_run_on_request_only(run: Server, tmp_path: Path) -> None:
    with Embedded("--nodes=0", "--no-scheduler") as cluster, running(cluster, tmp_path) as (url, process):
        server = Server(url, {"admin": cluster.token}, process)
        assert server.status("GET", "/dashboard/") == 403
        assert server.status("GET", "/dashboard/", "admin") == 404
        assert server.status("GET", f"{PREFIX}/summary", "admin") == 200


def test_where_up_says_that_it_is() -> None:
    with Embedded("--nodes=1") as cluster:
        file = cluster.kubeconfig.with_name("kubeconfig.scheduler")
        written = json.loads(file.read_text())
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        [page] = re.findall(r"http://\S+", cluster.program.log_text())
        assert page == f"{written['url']}/dashboard/#token={written['token']}"
        assert written["token"] != cluster.token
        # A stream that is open does not hold up the end.
        place = urlsplit(written["url"])
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
        connection.request("GET", f"{PREFIX}/stream", headers={"Authorization": f"Bearer {written['token']}"})
        answer = connection.getresponse()
        assert answer.status == 200 and answer.readline().startswith(b"event: summary")
        cluster.program.send(signal.SIGINT)
        assert cluster.program.exit_code(STOP_SECONDS) == 0
        connection.close()
        assert not file.exists()


def test_up_without_a_dashboard() -> None:
    with Embedded("--nodes=1", "--no-dashboard") as cluster:
        assert not cluster.kubeconfig.with_name("kubeconfig.scheduler").exists()
        assert "http://" not in cluster.program.log_text()


def test_a_port_for_the_dashboard() -> None:
    [port] = free_ports(1)
    with Embedded("--nodes=1", f"--dashboard-port={port}") as cluster:
        address = f"http://{HOST}:{port}/dashboard/#token="
        wait_for("the address", lambda: address in cluster.program.log_text())
