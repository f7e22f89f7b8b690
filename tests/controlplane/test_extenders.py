"""The same extender, asked by kube-scheduler and by Moorage: what they send, and what becomes of the pods."""

import base64
import contextlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client import certificates
from tests.controlplane.schedulers import Api, Document, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane, Program, free_ports, wait_for
from tests.framework.extenders.server import HOST, ExtenderServer, Raw, server_tls

SCHEDULERS = ("ours", "theirs")
PODS = "/api/v1/namespaces/default/pods"
NAMES = ("a", "b", "c")
BOUND, LATE, STRANGE, DEAD = (f"example.com/{name}" for name in ("bound", "late", "strange", "dead"))
VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "UID", "PodUID")


def base(text: bytes) -> str:
    return base64.b64encode(text).decode()


class Extender(ExtenderServer):
    """Keeps pods off node a, likes node c, and does as the label `extender` of a pod says."""

    def __init__(self, api: Api, folder: Path) -> None:
        self._api = api
        self.authority = certificates.make("authority")
        self._pair = certificates.make("extender", signer=self.authority, addresses=(HOST,))
        self.client = certificates.make("scheduler", signer=self.authority)
        tls = server_tls(
            self._pair.certificate_pem, self._pair.key_pem, folder, self.authority.certificate_pem
        )
        self.never = threading.Event()
        answers = {
            "objects/filter": self.filter,
            "objects/prioritize": self.score,
            "objects/preempt": self.preempt,
            "names/filter": self.filter,
            "names/prioritize": self.score,
            "names/preempt": self.preempt,
            "binding/bind": self.bind,
            "late/filter": self.hang,
        }
        super().__init__(answers, tls)

    def configured(self) -> list[Document]:
        tls = {
            "caData": base(self.authority.certificate_pem),
            "certData": base(self.client.certificate_pem),
            "keyData": base(self.client.key_pem),
        }
        common: Document = {"enableHTTPS": True, "tlsConfig": tls}
        verbs = {
            "filterVerb": "filter",
            "prioritizeVerb": "prioritize",
            "preemptVerb": "preempt",
            "weight": 7,
        }
        bound, late, strange, dead = (
            [{"name": name, "ignoredByScheduler": True}] for name in (BOUND, LATE, STRANGE, DEAD)
        )
        [nobody] = free_ports(1)
        other = base(certificates.make("other").certificate_pem)
        return [
            {
                **common,
                **verbs,
                "urlPrefix": f"https://{HOST}:{nobody}",
                "managedResources": dead,
                "ignorable": True,
            },
            {**common, **verbs, "urlPrefix": f"{self.url}/objects/"},
            {**common, **verbs, "urlPrefix": f"{self.url}/names", "nodeCacheCapable": True},
            {**common, "urlPrefix": f"{self.url}/binding", "bindVerb": "bind", "managedResources": bound},
            {
                **common,
                "urlPrefix": f"{self.url}/late",
                "filterVerb": "filter",
                "managedResources": late,
                "httpTimeout": "300ms",
            },
            {
                "tlsConfig": {**tls, "caData": other},
                "urlPrefix": f"{self.url}/objects",
                "filterVerb": "filter",
                "managedResources": strange,
            },
        ]

    def filter(self, request: Document) -> Any:
        wish = request["Pod"]["metadata"].get("labels", {}).get("extender", "")
        names = names_in(request)
        if wish == "nowhere":
            return {
                "FailedNodes": {names[0]: "taken"},
                "FailedAndUnresolvableNodes": dict.fromkeys(names[1:], "no"),
            }
        if wish == "error":
            return {"Error": "the extender is not in the mood"}
        if wish == "code":
            return Raw(b"out of order", 503)
        if wish == "garbage":
            return Raw(b"<html>not what you think</html>")
        if wish == "unknown" and request["NodeNames"]:
            return {"NodeNames": ["elsewhere"]}
        if wish == "everywhere":
            return {"nodes": request["Nodes"], "nodenames": request["NodeNames"]}
        left = [name for name in names if not name.startswith("a-")]
        failed = {name: "not this one" for name in names if name not in left}
        if request["NodeNames"] is not None:
            return {"NodeNames": left, "FailedNodes": failed}
        items = [item for item in request["Nodes"]["items"] if item["metadata"]["name"] in left]
        return {"nodes": {"items": items}, "failednodes": failed, "error": ""}

    def score(self, request: Document) -> list[Document]:
        return [{"Host": name, "Score": 10 * name.startswith("c-")} for name in names_in(request)]

    def preempt(self, request: Document) -> Document:
        victims = request["NodeNameToVictims"] or request["NodeNameToMetaVictims"]
        left = {name: each for name, each in victims.items() if not name.startswith("a-")}
        return {
            "NodeNameToMetaVictims": {
                name: {"Pods": [{"UID": uid_of(each)} for each in found["Pods"]], "NumPDBViolations": 0}
                for name, found in left.items()
            }
        }

    def bind(self, request: Document) -> Document:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": request["PodName"], "uid": request["PodUID"]},
            "target": {"kind": "Node", "name": request["Node"]},
        }
        self._api.request("POST", f"{PODS}/{request['PodName']}/binding", binding)
        return {"Error": ""}

    def hang(self, request: Document) -> Document:
        self.never.wait(20)
        return {}


def names_in(request: Document) -> list[str]:
    """The nodes of a request, in one order whoever sent it."""
    if request["NodeNames"] is not None:
        return sorted(request["NodeNames"])
    return sorted(item["metadata"]["name"] for item in request["Nodes"]["items"])


def uid_of(pod: Document) -> str:
    found: str = pod["UID"] if "UID" in pod else pod["metadata"]["uid"]
    return found


def comparable(value: Any) -> Any:
    """A document without what differs between two pods or two nodes of the same form."""
    if isinstance(value, dict):
        return {
            comparable(key): "..." if key in VOLATILE else comparable(item) for key, item in value.items()
        }
    if isinstance(value, list):
        return sorted((comparable(item) for item in value), key=json.dumps)
    if isinstance(value, str):
        return re.sub(r"ours|theirs|default-token-\w+|kube-api-access-\w+|(?<=127.0.0.1:)\d+", "*", value)
    return value


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    return Api(control_plane)


@pytest.fixture(scope="module")
def extenders(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Extender]]:
    """One for each scheduler, which otherwise could not be told apart."""
    with contextlib.ExitStack() as stack:
        made = {who: Extender(api, tmp_path_factory.mktemp(who)) for who in SCHEDULERS}
        for each in made.values():
            stack.enter_context(each)
            stack.callback(each.never.set)
        yield made


@pytest.fixture(scope="module")
def running(
    control_plane: ControlPlane,
    api: Api,
    extenders: dict[str, Extender],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Program]:
    """Both schedulers, each with nodes of its own."""
    api.create(node(f"{name}-{who}", cpu="2", labels={"pool": who}) for who in SCHEDULERS for name in NAMES)
    api.create(
        [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": 1000,
            }
        ]
    )
    configs = {
        who: {**configuration(control_plane, who), "extenders": extenders[who].configured()}
        for who in SCHEDULERS
    }
    file = tmp_path_factory.mktemp("config") / "theirs.json"
    file.write_text(json.dumps(configs["theirs"]))
    with (
        control_plane.kube_scheduler(f"--config={file}"),
        moorage(control_plane, config=configs["ours"]) as process,
    ):
        yield process


def make(api: Api, name: str, wish: str = "", **fields: Any) -> dict[str, str]:
    """The same pod for both schedulers; returns their names."""
    names = {who: f"{name}-{who}" for who in SCHEDULERS}
    labels = {"extender": wish} if wish else {}
    api.create(
        pod(names[who], scheduler=who, labels=labels, **{"nodeSelector": {"pool": who}, **fields})
        for who in SCHEDULERS
    )
    return names


def nodes_of(api: Api, names: dict[str, str]) -> list[str]:
    """Where both pods are, once they are."""

    def places() -> list[str] | None:
        bound = api.bound()
        return [bound[name] for name in names.values()] if bound.keys() >= set(names.values()) else None

    return [re.sub("ours|theirs", "*", place) for place in wait_for(f"both of {names}", places) or ()]


def conditions_of(api: Api, names: dict[str, str]) -> list[Document]:
    """What both pods are told, once they are."""

    def told() -> list[Document] | None:
        found = [condition(api.pod(name)) for name in names.values()]
        return found if all(each.get("message") for each in found) else None

    return [comparable(each) for each in wait_for(f"conditions of {names}", told) or ()]


def requests(extenders: dict[str, Extender], path: str, names: dict[str, str]) -> list[Any]:
    """The first that each scheduler asked about its pod."""
    return [
        comparable(
            next(
                body
                for body in extenders[who].asked(path)
                if (body.get("PodName") or body["Pod"]["metadata"]["name"]) == name
            )
        )
        for who, name in names.items()
    ]


def test_an_extender_filters_and_scores(running: Program, api: Api, extenders: dict[str, Extender]) -> None:
    names = make(api, "plain")
    assert nodes_of(api, names) == ["c-*", "c-*"]
    for path in ("objects/filter", "objects/prioritize", "names/filter", "names/prioritize"):
        ours, theirs = requests(extenders, path, names)
        assert ours == theirs
        assert list(ours) == ["Pod", "Nodes", "NodeNames"]
    (sent, *_) = (each for each in extenders["ours"].requests if each.verb == "names/filter")
    assert sent.content_type == "application/json"
    assert sent.body["Nodes"] is None
    assert sorted(sent.body["NodeNames"]) == ["b-ours", "c-ours"]


@pytest.mark.parametrize("wish", ["nowhere", "error", "code", "garbage", "unknown"])
def test_what_pods_are_told_is_the_same(wish: str, running: Program, api: Api) -> None:
    names = make(api, wish, wish)
    ours, theirs = conditions_of(api, names)
    assert ours == theirs
    assert ours["reason"] == ("Unschedulable" if wish == "nowhere" else "SchedulerError")
    api.delete(*(f"{PODS}/{name}" for name in names.values()))


def test_an_extender_that_hangs_is_given_up_and_others_are_scheduled(running: Program, api: Api) -> None:
    names = make(api, "late", requests={LATE: "1"})
    ours, theirs = conditions_of(api, names)
    late = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    # Two clocks of Go's client race for it, so it has three texts for the same thing, by chance.
    texts = {
        late,
        late.replace("context deadline exceeded", "net/http: request canceled"),
        late.split(" (")[0],
    }
    assert ours["message"] == f'Post "https://{HOST}:*/late/filter": {late}'
    assert theirs["message"] in {f'Post "https://{HOST}:*/late/filter": {text}' for text in texts}
    assert ours["reason"] == theirs["reason"] == "SchedulerError"
    assert nodes_of(api, make(api, "beside")) == ["c-*", "c-*"]
    api.delete(*(f"{PODS}/{name}" for name in names.values()))


def test_an_extender_whose_certificate_is_not_trusted_is_not_asked(running: Program, api: Api) -> None:
    names = make(api, "strange", requests={STRANGE: "1"})
    ours, theirs = conditions_of(api, names)
    trusted = f"https://{HOST}:*/objects/filter"
    for each in (ours, theirs):
        assert each["message"].startswith(f'Post "{trusted}": tls: failed to verify certificate: ')
        assert each["reason"] == "SchedulerError"
    api.delete(*(f"{PODS}/{name}" for name in names.values()))


def test_an_extender_that_is_dead_and_may_be_is_passed_over(running: Program, api: Api) -> None:
    assert nodes_of(api, make(api, "undaunted", requests={DEAD: "1"})) == ["c-*", "c-*"]


def test_an_extender_binds(running: Program, api: Api, extenders: dict[str, Extender]) -> None:
    names = make(api, "bound", requests={BOUND: "1"})
    assert nodes_of(api, names) == ["c-*", "c-*"]
    ours, theirs = requests(extenders, "binding/bind", names)
    assert ours == theirs
    assert list(ours) == ["PodName", "PodNamespace", "PodUID", "Node"]
    events = wait_for(
        "the event",
        lambda: api.events("Scheduled", names["ours"]) and api.events("Scheduled", names["theirs"]),
    )
    assert len(events) == 1


def test_an_extender_has_a_say_in_preemption(
    running: Program, api: Api, extenders: dict[str, Extender]
) -> None:
    small = {who: [f"small-{name}-{who}" for name in NAMES] for who in SCHEDULERS}
    api.create(
        pod(name, scheduler=who, requests={"cpu": "1500m"}, nodeName=f"{name.split('-')[1]}-{who}")
        for who, names in small.items()
        for name in names
    )
    names = make(api, "large", "everywhere", requests={"cpu": "1"}, priorityClassName="high")
    nominated = wait_for(
        "nominations",
        lambda: (
            (found := [api.pod(name)["status"].get("nominatedNodeName") for name in names.values()])
            and all(found)
            and found
        ),
    )
    assert all(re.fullmatch("[bc]-(ours|theirs)", each) for each in nominated or ())
    ours, theirs = requests(extenders, "objects/preempt", names)
    assert ours == theirs
    assert list(ours) == ["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]
    assert set(ours["NodeNameToVictims"]) == {"a-*", "b-*", "c-*"}
    ours, theirs = requests(extenders, "names/preempt", names)
    assert ours == theirs
    assert set(ours["NodeNameToMetaVictims"]) == {"b-*", "c-*"}
    api.delete(*(f"{PODS}/{name}" for name in api.pods()))


def test_pods_wait_for_an_extender_that_is_gone_and_go_on_when_it_is_back(
    running: Program, api: Api, extenders: dict[str, Extender]
) -> None:
    for each in extenders.values():
        each.stop()
    names = make(api, "waiting")
    ours, theirs = conditions_of(api, names)
    assert ours == theirs
    assert ours["message"].endswith("connect: connection refused")
    for each in extenders.values():
        each.start()
    assert nodes_of(api, names) == ["c-*", "c-*"]
