"""Whether a scheduler did its work right, by the API server's own record of requests and etcd's history.

Nothing that a scheduler says about itself is believed. The history gives the order of all writes; the audit
log says who asked for them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from moorage.api.quantities import milli, parse
from tests.faults.history import Change, Document

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "rules": [
        {"level": "Request", "resources": [{"group": "", "resources": ["pods/binding"]}]},
        {
            "level": "Request",
            "verbs": ["create", "update", "patch"],
            "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}],
            "omitStages": ["RequestReceived"],
        },
        {
            "level": "Metadata",
            "verbs": ["create", "update", "patch", "delete"],
            "resources": [
                {"group": "", "resources": ["events", "pods", "pods/status"]},
                {"group": "events.k8s.io", "resources": ["events"]},
            ],
            "omitStages": ["RequestReceived"],
        },
        {"level": "None"},
    ],
}
"""Requests to bind are recorded before they are served, so that those of a killed API server are known."""

BOUND, UNANSWERED, FAILED = 201, 0, 500
ENDED = ("Succeeded", "Failed")


class BindRequest(NamedTuple):
    """A request to bind a pod; without an answer, its code is 0 and its UID and node are not known."""

    pod: str
    uid: str
    node: str
    user: str
    code: int
    received: float


class LeaseWrite(NamedTuple):
    lease: str
    holder: str
    user: str


class Record(NamedTuple):
    """What was asked of the API servers."""

    binds: list[BindRequest]
    leases: list[LeaseWrite]


def recorded(entries: Iterable[Mapping[str, Any]]) -> Record:
    """The audit log, with what was said about a request at several stages put together."""
    requests: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        if "dryRun=" in entry["requestURI"]:
            continue
        if entry["auditID"] not in requests or entry["stage"] == "ResponseComplete":
            requests[entry["auditID"]] = entry
    record = Record([], [])
    for entry in requests.values():
        place = entry["objectRef"]
        if place["resource"] != "leases" and place.get("subresource") != "binding":
            continue
        name = f"{place['namespace']}/{place.get('name', '')}"
        user = _user(entry)
        code = entry.get("responseStatus", {}).get("code", UNANSWERED)
        body = entry.get("requestObject") or {}
        if place["resource"] == "leases":
            if code in (200, 201):
                name = f"{place['namespace']}/{body['metadata']['name']}"
                record.leases.append(LeaseWrite(name, body["spec"].get("holderIdentity", ""), user))
            continue
        received = datetime.fromisoformat(entry["requestReceivedTimestamp"]).timestamp()
        uid, node = body.get("metadata", {}).get("uid", ""), body.get("target", {}).get("name", "")
        record.binds.append(BindRequest(name, uid, node, user, code, received))
    return record


def writes_of(user: str, entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """What a user has asked to write: the verb and the place, in the order of the answers."""
    return [
        f"{entry['verb']} {entry['requestURI']}"
        for entry in entries
        if _user(entry) == user and entry["stage"] == "ResponseComplete"
    ]


def findings(
    changes: Sequence[Change],
    record: Record,
    *,
    lease: str = "",
    not_fitting: Iterable[str] = (),
    gone: Iterable[str] = (),
) -> list[str]:
    """Everything that must not be; an empty list if the scheduler did well.

    With `lease` ("NAMESPACE/NAME"), only who held it may have bound a pod. Pods in `not_fitting` may be left
    without a node, and to the nodes in `gone` pods may have been bound when these were no longer there.
    """
    replay = Replay(record, lease, frozenset(gone))
    for change in changes:
        replay.follow(change)
    replay.end(set(not_fitting))
    return replay.found


class Replay:
    """Goes through the history and looks at every write."""

    def __init__(self, record: Record, lease: str, gone: frozenset[str]) -> None:
        self.found: list[str] = []
        self._gone = gone
        self._lease = lease
        self._lease_spec: Document = {}
        self._identities: dict[str, set[str]] = defaultdict(set)
        for write in record.leases:
            if write.lease == lease and write.holder:
                self._identities[write.user].add(write.holder)
        self._bound_by: dict[str, BindRequest] = {}
        # Of a caller that has gone, the API server says that it failed, whether or not it was written.
        self._unanswered = {
            request.pod: request
            for request in record.binds
            if request.code == UNANSWERED or request.code >= FAILED
        }
        self._pods: dict[str, Document] = {}
        self._nodes: dict[str, dict[str, int]] = {}
        self._pods_of: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        self._binds = 0
        self._count(record.binds)

    def _count(self, binds: Iterable[BindRequest]) -> None:
        good = [request for request in binds if request.code == BOUND]
        for (pod, uid), times in Counter((request.pod, request.uid) for request in good).items():
            if times > 1:
                self.found.append(f"{pod} ({uid}) was bound by {times} requests")
        self._bound_by = {request.uid: request for request in good}

    def follow(self, change: Change) -> None:
        if change.kind == "node":
            self._follow_node(change)
        elif change.kind == "pod":
            self._follow_pod(change)
        elif change.key == self._lease:
            self._lease_spec = (change.document or {}).get("spec", {})

    def _follow_node(self, change: Change) -> None:
        if change.document is None:
            self._nodes.pop(change.key, None)
            return
        amounts = change.document["status"]["allocatable"]
        self._nodes[change.key] = {name: milli(parse(amount)) for name, amount in amounts.items()}

    def _follow_pod(self, change: Change) -> None:
        key, new, old = change.key, change.document, self._pods.pop(change.key, None)
        before, after = _node(old), _node(new)
        if before:
            self._pods_of[before].pop(key, None)
        if new is None:
            return
        self._pods[key] = new
        if before and before != after:
            self.found.append(f"{key} moved from {before} to {after or 'no node'} at {change.revision}")
        if not after:
            return
        if new["status"].get("phase") not in ENDED:
            self._pods_of[after][key] = requests(new)
        if not before and old is not None:
            self._look_at_bind(change, new, after)

    def _look_at_bind(self, change: Change, pod: Document, node: str) -> None:
        self._binds += 1
        where = f"{change.key} to {node} at {change.revision}"
        if node in self._nodes:
            self._look_at_room(where, node)
        elif node not in self._gone:
            self.found.append(f"{where}: there is no such node")
        request = self._bound_by.get(pod["metadata"]["uid"]) or self._unanswered.get(change.key)
        if request is None:
            self.found.append(f"{where}: nobody asked for it")
        elif request.node and request.node != node:
            self.found.append(f"{where}: the request was for {request.node}")
        elif self._lease:
            self._look_at_lease(where, request)

    def _look_at_room(self, where: str, node: str) -> None:
        used: Counter[str] = Counter()
        for amounts in self._pods_of[node].values():
            used.update(amounts)
        for name, amount in used.items():
            room = self._nodes[node].get(name, 0)
            if amount > room:
                self.found.append(f"{where}: {amount}m of {name} are asked for, {room}m are there")

    def _look_at_lease(self, where: str, request: BindRequest) -> None:
        holder = self._lease_spec.get("holderIdentity", "")
        if holder not in self._identities[request.user]:
            self.found.append(f"{where}: {request.user} bound it while {holder or 'nobody'} held the lease")
            return
        renewed = datetime.fromisoformat(self._lease_spec["renewTime"]).timestamp()
        late = request.received - renewed - self._lease_spec["leaseDurationSeconds"]
        if late > 0:
            self.found.append(f"{where}: {request.user} bound it {late:.1f} s after its lease had run out")

    def end(self, not_fitting: set[str]) -> None:
        if not self._binds:
            self.found.append("no pod was bound at all: there is nothing to audit")
        for key, pod in self._pods.items():
            if not _node(pod) and pod["metadata"]["name"] not in not_fitting:
                self.found.append(f"{key} was lost: it has no node")


def requests(pod: Document) -> dict[str, int]:
    """What a pod of plain containers asks for, in thousandths."""
    total: Counter[str] = Counter({"pods": 1000})
    for container in pod["spec"]["containers"]:
        for name, amount in (container.get("resources", {}).get("requests") or {}).items():
            total[name] += milli(parse(amount))
    return dict(total)


def _user(entry: Mapping[str, Any]) -> str:
    """Who asks; empty if the API server does not know."""
    name: str = entry.get("impersonatedUser", entry["user"]).get("username", "")
    return name


def _node(pod: Document | None) -> str:
    name: str = (pod or {}).get("spec", {}).get("nodeName", "")
    return name
