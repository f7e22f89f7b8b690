"""One extender over real connections: answers, failures, certificates."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.config import ConfigError
from moorage.config.types import Extender, ExtenderManagedResource, ExtenderTLSConfig
from moorage.framework.extenders import transport
from moorage.framework.extenders.asking import make_extenders
from moorage.framework.extenders.envelopes import ExtenderError, Victims
from moorage.framework.extenders.extender import Filtered, HttpExtender
from moorage.state.cluster import ClusterState
from moorage.testing import make_node, make_pod
from tests.client import certificates
from tests.framework.extenders.server import HOST, ExtenderServer, Raw, server_tls

POD = make_pod("p")
LONG = Duration.of_seconds(30)
VERBS = {
    "filter_verb": "filter",
    "prioritize_verb": "prioritize",
    "preempt_verb": "preempt",
    "bind_verb": "bind",
}


@pytest.fixture
def server() -> Iterator[ExtenderServer]:
    with ExtenderServer() as running:
        yield running


@pytest.fixture
def state() -> ClusterState:
    made = ClusterState()
    for name in ("a", "b", "c"):
        made.put_node(make_node(name))
    made.add_pod(make_pod("v", uid="1", node="a"))
    made.table.refresh()
    return made


def config(url: str, **fields: Any) -> Extender:
    return Extender(**{"url_prefix": url, "http_timeout": LONG, "weight": 2, **VERBS, **fields})


def asked(extender: HttpExtender, ask: Callable[[HttpExtender], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        try:
            return await ask(extender)
        finally:
            await extender.close()

    return asyncio.run(main())


def filtered(server: ExtenderServer, state: ClusterState, **fields: Any) -> Filtered:
    extender = HttpExtender(config(server.url, **fields), "extenders[0]")
    result: Filtered = asked(extender, lambda extender: extender.filter(POD, state.nodes))
    return result


def refusal(server: ExtenderServer, state: ClusterState, **fields: Any) -> str:
    with pytest.raises(ExtenderError) as caught:
        filtered(server, state, **fields)
    return str(caught.value)


# Answers


@pytest.mark.parametrize(
    ("by_name", "answer", "left"),
    [
        (True, {"NodeNames": ["c", "a"]}, ["c", "a"]),
        (True, {"NodeNames": ["c", "c"]}, ["c"]),
        (True, {"NodeNames": None, "Nodes": {"items": [{"metadata": {"name": "b"}}]}}, ["b"]),
        (True, {"NodeNames": [], "Nodes": {"items": [{"metadata": {"name": "b"}}]}}, []),
        (True, {}, []),
        (False, {"NodeNames": ["a"]}, []),
        (False, {"NodeNames": ["a"], "Nodes": {"items": [{"metadata": {"name": "b"}}]}}, ["b"]),
    ],
)
def test_which_nodes_an_answer_leaves(
    by_name: bool, answer: Any, left: list[str], server: ExtenderServer, state: ClusterState
) -> None:
    server.answers["filter"] = answer
    assert filtered(server, state, node_cache_capable=by_name).nodes.names == left


def test_nodes_that_were_not_asked_about_are_an_error(server: ExtenderServer, state: ClusterState) -> None:
    server.answers["filter"] = {"NodeNames": ["a", "x"], "Nodes": {"items": [{"metadata": {"name": "x"}}]}}
    said = f'extender "{server.url}" claims a filtered node "x" which is not found in the input node list'
    assert refusal(server, state, node_cache_capable=True) == said
    assert refusal(server, state) == said


def test_scores_are_weighted_and_scaled(server: ExtenderServer, state: ClusterState) -> None:
    server.answers["prioritize"] = [{"Host": "a", "Score": 3}, {"Host": "a", "Score": 1}, {"Host": "x"}]
    extender = HttpExtender(config(server.url), "extenders[0]")
    assert asked(extender, lambda extender: extender.prioritize(POD, state.nodes)) == {"a": 80, "x": 0}
    silent = HttpExtender(config(server.url, prioritize_verb=""), "extenders[0]")
    assert asked(silent, lambda extender: extender.prioritize(POD, state.nodes)) == {"a": 0, "b": 0, "c": 0}
    assert len(server.requests) == 1


def victims_of(server: ExtenderServer, state: ClusterState, answer: Any) -> Any:
    server.answers["preempt"] = {"NodeNameToMetaVictims": answer}
    extender = HttpExtender(config(server.url), "extenders[0]")
    victims = {"b": Victims((make_pod("w"),), 0)}
    return asked(extender, lambda extender: extender.preempt(POD, victims, state))


def test_victims_may_be_others_than_those_proposed(server: ExtenderServer, state: ClusterState) -> None:
    answer = {"a": {"Pods": [{"UID": "1"}], "NumPDBViolations": 3}, "c": {"Pods": []}}
    found = victims_of(server, state, answer)
    assert found == {"a": Victims((state.pod("1"),), 3), "c": Victims((), 0)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"x": {"Pods": []}}, 'nodeinfo not found for node name "x"'),
        (
            {"a": {"Pods": [{"UID": "2"}]}},
            "extender: URL claims to preempt pod (UID: &{2}) on node: a, "
            "but the pod is not found on that node",
        ),
    ],
)
def test_victims_that_are_not_there_are_an_error(
    answer: Any, message: str, server: ExtenderServer, state: ClusterState
) -> None:
    with pytest.raises(ExtenderError) as caught:
        victims_of(server, state, answer)
    assert str(caught.value) == message.replace("URL", server.url)


def test_only_pods_with_a_managed_resource_are_of_interest() -> None:
    managed = [ExtenderManagedResource(name="a.com/x")]
    choosy = HttpExtender(config("http://x", managed_resources=managed), "extenders[0]")
    limited: dict[str, Any] = {"containers": [{"name": "c", "resources": {"limits": {"a.com/x": "1"}}}]}
    first: dict[str, Any] = {
        "containers": [{"name": "c"}],
        "initContainers": [{"name": "i", **limited["containers"][0]}],
    }
    for pod, of_interest in (
        (make_pod(), False),
        (make_pod(requests={"a.com/x": 1}), True),
        (make_pod(requests={"a.com/y": 1}), False),
        (make_pod(**limited), True),
        (make_pod(**first), True),
    ):
        assert choosy.is_interested(pod) is of_interest
    assert HttpExtender(config("http://x"), "extenders[0]").is_interested(make_pod())


# Failures


def test_other_codes_than_200_are_failures(server: ExtenderServer, state: ClusterState) -> None:
    server.answers["filter"] = Raw(b"{}", 201)
    said = f"failed filter with extender at URL {server.url}/filter, code 201"
    assert refusal(server, state, url_prefix=f"{server.url}//") == said


def test_an_extender_that_takes_too_long_is_given_up(server: ExtenderServer, state: ClusterState) -> None:
    over = threading.Event()
    server.answers["filter"] = lambda request: Raw(b"{}") if over.wait(30) else None
    said = refusal(server, state, http_timeout=Duration(50_000_000))
    over.set()
    late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert said == f'Post "{server.url}/filter": {late}'


def test_an_answer_that_does_not_end_is_given_up(server: ExtenderServer, state: ClusterState) -> None:
    server.answers["filter"] = Raw(b"{", announced=100)
    assert refusal(server, state, http_timeout=Duration(50_000_000)) == (
        "context deadline exceeded (Client.Timeout or context cancellation while reading body)"
    )


def test_an_answer_that_is_too_large_is_given_up(
    server: ExtenderServer, state: ClusterState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "LARGEST_ANSWER", 2**20)
    server.answers["filter"] = Raw(b" " * (2**20 + 1))
    assert "is larger than 1 MiB" in refusal(server, state)


def test_thousands_of_nodes_come_back(server: ExtenderServer) -> None:
    state = ClusterState()
    for number in range(5000):
        state.put_node(make_node(f"n{number}", annotations={"long": "x" * 2000}))
    state.table.refresh()
    server.answers["filter"] = lambda request: {"Nodes": request["Nodes"]}
    assert len(filtered(server, state).nodes) == 5000


def test_nobody_is_there(server: ExtenderServer, state: ClusterState) -> None:
    server.stop()
    place = server.url.removeprefix("http://")
    said = f'Post "{server.url}/filter": dial tcp {place}: connect: connection refused'
    assert refusal(server, state) == said
    unknown = "http://nobody.invalid"
    said = f'Post "{unknown}/filter": dial tcp: lookup nobody.invalid: no such host'
    assert refusal(server, state, url_prefix=unknown) == said


def test_a_server_without_tls_is_told_as_such(server: ExtenderServer, state: ClusterState) -> None:
    url = server.url.replace("http:", "https:")
    said = f'Post "{url}/filter": http: server gave HTTP response to HTTPS client'
    assert refusal(server, state, url_prefix=url, enable_https=True) == said


def test_connections_are_kept_and_made_anew_when_the_extender_is_back(
    server: ExtenderServer, state: ClusterState
) -> None:
    server.answers["filter"] = {"NodeNames": ["a"]}
    extender = HttpExtender(config(server.url, node_cache_capable=True), "extenders[0]")

    async def main() -> None:
        for restarts in (False, False, True):
            if restarts:
                # This thread has no chance to notice that the connection is gone before it asks.
                server.stop()
                server.start()
            assert (await extender.filter(POD, state.nodes)).nodes.names == ["a"]
        await extender.close()

    asyncio.run(main())
    first, second, third = (request.connection for request in server.requests)
    assert first == second != third


def test_a_bind_is_not_repeated(server: ExtenderServer) -> None:
    def dies(request: Any) -> Any:
        server.stop()
        return {}

    server.answers["bind"] = dies
    extender = HttpExtender(config(server.url), "extenders[0]")
    with pytest.raises(ExtenderError):
        asked(extender, lambda extender: extender.bind(POD, "a"))
    assert len(server.requests) == 1


def test_a_failing_extender_is_named_once(
    server: ExtenderServer, state: ClusterState, caplog: pytest.LogCaptureFixture
) -> None:
    extender = HttpExtender(config(server.url), "extenders[3]")

    async def ask_twice(extender: HttpExtender) -> None:
        for _ in range(2):
            with pytest.raises(ExtenderError, match="code 404"):
                await extender.filter(POD, state.nodes)

    asked(extender, ask_twice)
    [record] = [each for each in caplog.records if each.levelname == "WARNING"]
    assert "extenders[3]" in str(record.__dict__)


# Certificates

AUTHORITY = certificates.make("authority")
SERVER = certificates.make("extender", signer=AUTHORITY, addresses=(HOST,))
CLIENT = certificates.make("scheduler", signer=AUTHORITY)
TRUST = {"ca_data": AUTHORITY.certificate_pem}
IDENTITY = {"cert_data": CLIENT.certificate_pem, "key_data": CLIENT.key_pem}


def over_tls(
    state: ClusterState, folder: Path, tls: dict[str, Any], *, asks_for_one: bool = False, **fields: Any
) -> str:
    """What came of a call: "", or the reason why it failed."""
    authority = AUTHORITY.certificate_pem if asks_for_one else b""
    context = server_tls(SERVER.certificate_pem, SERVER.key_pem, folder, authority)
    with ExtenderServer({"filter": {}}, context) as server:
        try:
            filtered(server, state, tls_config=ExtenderTLSConfig(**tls), **fields)
        except ExtenderError as error:
            return str(error).partition(": ")[2]
        return ""


def test_a_trusted_server_is_asked(state: ClusterState, tmp_path: Path) -> None:
    (tmp_path / "ca").write_bytes(AUTHORITY.certificate_pem)
    for tls in (
        TRUST,
        {"ca_file": str(tmp_path / "ca")},
        {"insecure": True},
        {**TRUST, "server_name": "extender"},
    ):
        assert over_tls(state, tmp_path, tls) == ""
    assert over_tls(state, tmp_path, {}, enable_https=True) == ""


def test_a_server_that_is_not_trusted_is_not_asked(state: ClusterState, tmp_path: Path) -> None:
    other = {"ca_data": certificates.make("other").certificate_pem}
    assert over_tls(state, tmp_path, {}).startswith("tls: failed to verify certificate: ")
    for tls in (other, {**TRUST, "server_name": "somebody-else"}):
        assert over_tls(state, tmp_path, tls, enable_https=True).startswith(
            "tls: failed to verify certificate: "
        )


def test_the_client_shows_its_certificate(state: ClusterState, tmp_path: Path) -> None:
    assert over_tls(state, tmp_path, TRUST, asks_for_one=True) != ""
    assert over_tls(state, tmp_path, {**TRUST, **IDENTITY}, asks_for_one=True) == ""
    (tmp_path / "c").write_bytes(CLIENT.certificate_pem)
    (tmp_path / "k").write_bytes(CLIENT.key_pem)
    files = {"cert_file": str(tmp_path / "c"), "key_file": str(tmp_path / "k")}
    assert over_tls(state, tmp_path, {**TRUST, **files}, asks_for_one=True) == ""


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (
            {"url_prefix": "extender:80"},
            'extenders[1].urlPrefix: "extender:80" is not the URL of an extender; '
            "write http://HOST:PORT/PATH or https://...",
        ),
        (
            {"url_prefix": "http://[::1"},
            'extenders[1].urlPrefix: "http://[::1" is not the URL of an extender',
        ),
        (
            {"ca_file": "/none"},
            "extenders[1].tlsConfig.caFile: /none: cannot be read: No such file or directory; check the path",
        ),
        ({"ca_data": b"rubbish"}, "extenders[1].tlsConfig.caData: not usable as a certificate authority: "),
        (
            {"ca_data": AUTHORITY.certificate_pem, "insecure": True},
            "extenders[1].tlsConfig.insecure: specifying a root certificates file with the insecure flag "
            "is not allowed; remove one",
        ),
        (
            {"cert_data": CLIENT.certificate_pem},
            "extenders[1].tlsConfig.keyFile: is missing; a client certificate and its key belong together",
        ),
        (
            {"cert_data": CLIENT.certificate_pem, "key_data": SERVER.key_pem},
            "extenders[1].tlsConfig: the client certificate and its key cannot be used: ",
        ),
    ],
)
def test_what_cannot_be_used_is_named(fields: dict[str, Any], line: str) -> None:
    own = {name: value for name, value in fields.items() if name == "url_prefix"}
    tls = {name: value for name, value in fields.items() if name not in own}
    with pytest.raises(ConfigError) as caught:
        make_extenders(
            [config("http://x"), config("https://x", **{"tls_config": ExtenderTLSConfig(**tls), **own})]
        )
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


def test_an_extender_without_verbs_needs_no_url() -> None:
    [unused] = make_extenders([Extender(url_prefix="", http_timeout=LONG)])
    assert not (unused.filters or unused.prioritizes or unused.preempts or unused.binds)
