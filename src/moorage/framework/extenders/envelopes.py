"""The JSON that goes to an extender and comes back.

Keys of requests are capitalised and always there, null where they are unused. Keys of answers are taken in
any case, and null counts as absent. Pods and nodes are embedded as the API server sent them, without `kind`
and `apiVersion`; pods also without `metadata.managedFields`. kube-scheduler does not send these either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.state.nodes import Nodes

_encode = msgspec.json.Encoder().encode
_fields_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NOT_SENT = ("kind", "apiVersion")
_NODE_OF_A_WATCH = b'{"kind":"Node","apiVersion":"v1",'
_STARTS = b'{["-0123456789tfn'


class ExtenderError(Exception):
    """An extender that could not be asked, or whose answer cannot be used, as kube-scheduler says it."""


class Victims(NamedTuple):
    """The pods that would have to go from a node, the most important first."""

    pods: tuple[Pod, ...]
    pdb_violations: int


class FilterAnswer(NamedTuple):
    """`names` and `of_objects` are the nodes that are left, by name and as objects; None if unsaid."""

    names: list[str] | None
    of_objects: list[str] | None
    failed: dict[str, str]
    unresolvable: dict[str, str]
    error: str


class MetaVictims(NamedTuple):
    """Victims by uid, as extenders return them."""

    uids: list[str]
    pdb_violations: int


# Requests


def nodes_request(pod: Pod, nodes: Nodes, *, by_name: bool) -> bytes:
    """What filter and prioritize are asked."""
    items = None if by_name else [embedded(info.node) for info in nodes]
    return _encode(
        {
            "Pod": embedded(pod),
            "Nodes": None if items is None else {"metadata": {}, "items": items},
            "NodeNames": nodes.names if by_name else None,
        }
    )


def preempt_request(pod: Pod, victims: Mapping[str, Victims], *, by_uid: bool) -> bytes:
    def listed(pods: Iterable[Pod]) -> list[Any]:
        return [{"UID": each.uid} for each in pods] if by_uid else [embedded(each) for each in pods]

    nodes = {
        name: {"Pods": listed(each.pods), "NumPDBViolations": each.pdb_violations}
        for name, each in victims.items()
    }
    return _encode(
        {
            "Pod": embedded(pod),
            "NodeNameToVictims": None if by_uid else nodes,
            "NodeNameToMetaVictims": nodes if by_uid else None,
        }
    )


def bind_request(pod: Pod, node_name: str) -> bytes:
    return _encode({"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node_name})


def embedded(item: Object) -> msgspec.Raw:
    """An object as it stands in a request. `raw` is left alone: it would keep every node decoded."""
    source: bytes | None = item.__dict__.get("_source")
    if source is not None and isinstance(item, Node):
        # There may be thousands, and this is how API servers write them, in watches and in lists.
        source = source.removeprefix(_NODE_OF_A_WATCH).removeprefix(b"{")
        if source.startswith(b'"metadata":'):
            return msgspec.Raw(b"{" + source)
        source = item.__dict__["_source"]
    fields: dict[str, Any] = dict(item.raw) if source is None else _fields_of(source)
    for name in _NOT_SENT:
        fields.pop(name, None)
    if isinstance(item, Pod):
        metadata = _parts(fields.get("metadata"))
        metadata.pop("managedFields", None)
        fields["metadata"] = metadata
        if item.spec.node_name:
            # A pod that was only assumed on its node does not say so in what the API server sent.
            fields["spec"] = {**_parts(fields.get("spec")), "nodeName": item.spec.node_name}
    return msgspec.Raw(_encode(fields))


def _parts(value: Any) -> dict[str, Any]:
    if isinstance(value, msgspec.Raw):
        return _fields_of(value)
    return dict(value or {})


# Answers


def read_filter(body: bytes) -> FilterAnswer:
    top = _answer_fields(body)
    of_objects: list[str] | None = None
    if "nodes" in top:
        items = _value(_answer_fields(top["nodes"]), "items", list[msgspec.Raw], [])
        metadata = [_answer_fields(item).get("metadata", msgspec.Raw(b"{}")) for item in items]
        of_objects = [_value(_answer_fields(each), "name", str, "") for each in metadata]
    return FilterAnswer(
        _value(top, "nodenames", list[str], None),
        of_objects,
        _value(top, "failednodes", dict[str, str], {}),
        _value(top, "failedandunresolvablenodes", dict[str, str], {}),
        _value(top, "error", str, ""),
    )


def read_scores(body: bytes) -> list[tuple[str, int]]:
    """Nodes and scores, in the order of the answer."""
    found: list[tuple[str, int]] = []
    for item in _read(body, list[msgspec.Raw] | None) or []:
        fields = _answer_fields(item)
        found.append((_value(fields, "host", str, ""), _value(fields, "score", int, 0)))
    return found


def read_victims(body: bytes) -> dict[str, MetaVictims]:
    found: dict[str, MetaVictims] = {}
    of_nodes = _value(_answer_fields(body), "nodenametometavictims", dict[str, msgspec.Raw], {})
    for name, each in of_nodes.items():
        fields = _answer_fields(each)
        pods = _value(fields, "pods", list[msgspec.Raw], [])
        uids = [_value(_answer_fields(pod), "uid", str, "") for pod in pods]
        found[name] = MetaVictims(uids, _value(fields, "numpdbviolations", int, 0))
    return found


def read_error(body: bytes) -> str:
    """What the answer to bind says."""
    said: str = _value(_answer_fields(body), "error", str, "")
    return said


def _answer_fields(body: bytes | msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The fields that are not null, by their names in lower case."""
    found = _read(body, dict[str, msgspec.Raw] | None) or {}
    return {name.lower(): value for name, value in found.items() if bytes(value) != b"null"}


def _value(fields: Mapping[str, msgspec.Raw], name: str, kind: Any, default: Any) -> Any:
    return _read(fields[name], kind) if name in fields else default


def _read(body: bytes | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        text = bytes(body).strip()
        if not text:
            raise ExtenderError("EOF") from None
        if text[0] not in _STARTS:
            shown = text.decode(errors="replace")[0]
            raise ExtenderError(f"invalid character '{shown}' looking for beginning of value") from None
        raise ExtenderError(f"the answer cannot be read: {error}") from None
