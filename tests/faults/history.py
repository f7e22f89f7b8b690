"""What really happened in a cluster, in the order in which it happened: the history that etcd keeps."""

import base64
import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.controlplane.servers import HOST, ControlPlane

SECONDS = 60.0
STORED_AS_JSON = "--storage-media-type=application/json"
NEVER_COMPACTED = "--etcd-compaction-interval=0"
FLAGS = (STORED_AS_JSON, NEVER_COMPACTED)
"""What an API server needs for a history that can be read."""

PREFIXES = {"/registry/pods/": "pod", "/registry/minions/": "node", "/registry/leases/": "lease"}

Document = dict[str, Any]


class Change(NamedTuple):
    """A write of a pod, a node or a lease. Without a document, the object is gone."""

    revision: int
    kind: str
    key: str
    document: Document | None


class History:
    """The changes since the history was begun, read from etcd when it is asked for."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._next = plane.revision() + 1
        self._changes: list[Change] = []

    def read(self) -> list[Change]:
        """All changes so far."""
        last = self._plane.revision()
        if self._next <= last:
            self._changes += self._between(self._next, last)
            self._next = last + 1
        return self._changes

    def read_and_forget(self) -> None:
        """Reads, and has etcd forget what was read."""
        self.read()
        self._plane.compact(self._next - 1)

    def _between(self, first: int, last: int) -> Iterator[Change]:
        everything = base64.b64encode(b"\0").decode()
        request = {"key": everything, "range_end": everything, "start_revision": str(first)}
        for answer in self._watch({"create_request": request}):
            if "compact_revision" in answer or answer.get("canceled"):
                raise AssertionError(f"etcd has forgotten what came after revision {first}: {answer}")
            for event in answer.get("events", ()):
                revision = int(event["kv"]["mod_revision"])
                if revision > last:
                    return
                if (change := _change(revision, event)) is not None:
                    yield change
            if int(answer.get("events", [{"kv": {"mod_revision": 0}}])[-1]["kv"]["mod_revision"]) >= last:
                return

    def _watch(self, question: Document) -> Iterator[Document]:
        connection = http.client.HTTPConnection(HOST, self._plane.etcd_port, timeout=SECONDS)
        with contextlib.closing(connection):
            connection.request("POST", "/v3/watch", json.dumps(question))
            with connection.getresponse() as answer:
                for line in answer:
                    yield json.loads(line)["result"]


def _change(revision: int, event: Document) -> Change | None:
    path = base64.b64decode(event["kv"]["key"]).decode()
    for prefix, kind in PREFIXES.items():
        if path.startswith(prefix):
            gone = event.get("type") == "DELETE"
            document = None if gone else json.loads(base64.b64decode(event["kv"]["value"]))
            return Change(revision, kind, path.removeprefix(prefix), document)
    return None
