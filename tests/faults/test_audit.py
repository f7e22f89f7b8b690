"""The auditor finds what it is there for: it is given a good record, then the same with one thing wrong."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.faults.audit import findings, recorded
from tests.faults.history import Change, Document

LEASE = "kube-system/the-lease"


def pod(name: str, node: str = "", cpu: str = "1", phase: str = "Pending") -> Document:
    spec: Document = {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec, "status": {"phase": phase}}


def lease(holder: str, renewed: str) -> Document:
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 4}}


def a_good_history() -> list[Change]:
    """Two processes, one after the other; two pods fill the node, and a third follows one of them."""
    node = {"status": {"allocatable": {"cpu": "2", "pods": "10"}}}
    return [
        Change(1, "node", "n", node),
        Change(2, "lease", LEASE, lease("id-1", "2026-01-01T00:00:00.000000Z")),
        *(Change(3 + number, "pod", f"default/{name}", pod(name)) for number, name in enumerate("abc")),
        Change(6, "pod", "default/a", pod("a", "n")),
        Change(7, "pod", "default/b", pod("b", "n")),
        Change(8, "pod", "default/a", pod("a", "n", phase="Succeeded")),
        Change(9, "lease", LEASE, lease("id-2", "2026-01-01T00:01:00.000000Z")),
        Change(10, "pod", "default/c", pod("c", "n")),
        Change(11, "pod", "default/a", None),
    ]


def entry(number: int, resource: str, name: str, user: str, time: str, code: int, body: Document) -> Document:
    space = "kube-system" if resource == "leases" else "default"
    return {
        "auditID": f"request-{number}",
        "stage": "ResponseComplete",
        "requestURI": f"/namespaces/{space}/{resource}/{name}",
        "objectRef": {
            "resource": resource,
            "namespace": space,
            "name": name,
            **({"subresource": "binding"} if resource == "pods" else {}),
        },
        "user": {"username": "admin"},
        "impersonatedUser": {"username": user},
        "requestReceivedTimestamp": f"2026-01-01T{time}Z",
        "responseStatus": {"code": code},
        "requestObject": body,
    }


def bind(number: int, name: str, user: str, time: str, code: int = 201, node: str = "n") -> Document:
    body = {"metadata": {"name": name, "uid": f"uid-{name}"}, "target": {"kind": "Node", "name": node}}
    return entry(number, "pods", name, user, time, code, body)


def renewal(number: int, holder: str, user: str, time: str) -> Document:
    body = {"metadata": {"name": "the-lease"}, "spec": {"holderIdentity": holder}}
    return entry(number, "leases", "the-lease", user, time, 200, body)


def a_good_log() -> list[Document]:
    return [
        renewal(1, "id-1", "first", "00:00:00.0"),
        bind(2, "a", "first", "00:00:01.0"),
        bind(3, "b", "first", "00:00:02.0"),
        bind(4, "b", "first", "00:00:03.0", code=409),
        renewal(5, "id-2", "second", "00:01:00.0"),
        bind(6, "c", "second", "00:01:01.0"),
    ]


def judged(history: list[Change], log: list[Document], **options: Any) -> list[str]:
    return findings(history, recorded(log), lease=LEASE, **options)


def test_a_good_record_is_good() -> None:
    assert judged(a_good_history(), a_good_log()) == []


Doctor = Callable[[list[Change], list[Document]], None]


def bound_by_two_requests(history: list[Change], log: list[Document]) -> None:
    log[3]["responseStatus"]["code"] = 201


def moved(history: list[Change], log: list[Document]) -> None:
    history.insert(7, Change(8, "pod", "default/b", pod("b", "m")))


def unbound(history: list[Change], log: list[Document]) -> None:
    history.insert(7, Change(8, "pod", "default/b", pod("b")))


def too_much(history: list[Change], log: list[Document]) -> None:
    """The third pod comes before the first has ended."""
    history[7], history[9] = history[9], history[7]
    history[7], history[8] = history[8], history[7]


def too_much_for_a_moment(history: list[Change], log: list[Document]) -> None:
    """In the end all is well."""
    history[4] = Change(5, "pod", "default/c", pod("c", cpu="1500m"))
    history[9] = Change(10, "pod", "default/c", pod("c", "n", cpu="1500m"))
    history.append(Change(12, "pod", "default/b", None))


def no_such_node(history: list[Change], log: list[Document]) -> None:
    history.insert(9, Change(9, "node", "n", None))


def lost(history: list[Change], log: list[Document]) -> None:
    del history[9]


def by_a_deposed_leader(history: list[Change], log: list[Document]) -> None:
    log[5]["impersonatedUser"]["username"] = "first"


def after_the_lease_had_run_out(history: list[Change], log: list[Document]) -> None:
    log[2]["requestReceivedTimestamp"] = "2026-01-01T00:00:04.5Z"


def by_nobody(history: list[Change], log: list[Document]) -> None:
    del log[5]


def elsewhere(history: list[Change], log: list[Document]) -> None:
    log[5]["requestObject"]["target"]["name"] = "m"


@pytest.mark.parametrize(
    ("doctor", "expected"),
    {
        bound_by_two_requests: "default/b (uid-b) was bound by 2 requests",
        moved: "default/b moved from n to m at 8",
        unbound: "default/b moved from n to no node at 8",
        too_much: "default/c to n at 10: 3000m of cpu are asked for, 2000m are there",
        too_much_for_a_moment: "default/c to n at 10: 2500m of cpu are asked for, 2000m are there",
        no_such_node: "default/c to n at 10: there is no such node",
        lost: "default/c was lost: it has no node",
        by_a_deposed_leader: "default/c to n at 10: first bound it while id-2 held the lease",
        after_the_lease_had_run_out: "default/b to n at 7: first bound it 0.5 s after its lease had run out",
        by_nobody: "default/c to n at 10: nobody asked for it",
        elsewhere: "default/c to n at 10: the request was for m",
    }.items(),
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_wrong_is_found(doctor: Doctor, expected: str) -> None:
    history, log = a_good_history(), copy.deepcopy(a_good_log())
    doctor(history, log)
    assert expected in judged(history, log)


def test_a_bind_whose_answer_was_never_recorded_is_known_by_its_arrival() -> None:
    log: list[Document] = a_good_log()
    arrived: Mapping[str, Any] = {**log[5], "stage": "RequestReceived"}
    log[5] = {key: value for key, value in arrived.items() if key not in ("responseStatus", "requestObject")}
    assert judged(a_good_history(), log) == []


def test_a_bind_that_was_written_although_its_caller_was_gone() -> None:
    log: list[Document] = a_good_log()
    log[5] = {**log[5], "responseStatus": {"code": 500}}
    assert judged(a_good_history(), log) == []


def test_what_was_only_tried_out_does_not_count() -> None:
    log = a_good_log()
    log.append({**bind(7, "b", "nobody", "00:01:02.0"), "requestURI": "/binding?dryRun=All"})
    assert judged(a_good_history(), log) == []


def test_a_record_without_a_bind_is_no_proof() -> None:
    history = [change for change in a_good_history() if change.kind != "pod"]
    assert judged(history, a_good_log()) == ["no pod was bound at all: there is nothing to audit"]


def test_a_node_may_be_said_to_have_gone() -> None:
    history, log = a_good_history(), a_good_log()
    no_such_node(history, log)
    assert judged(history, log, gone=["n"]) == []


def test_a_pod_that_fits_nowhere_is_not_lost() -> None:
    history = a_good_history()
    del history[9]
    assert judged(history, a_good_log(), not_fitting=["c"]) == []
