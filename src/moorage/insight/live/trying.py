"""What would become of a pod: the question of `moorage evaluate`, put to a copy of the live state."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import msgspec

from moorage.api.decoding import DecodeError, from_document
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.config.document import DocumentError, read
from moorage.framework.runtime.profile import Profile
from moorage.insight.gangs import evaluated
from moorage.insight.live.copied import Copy
from moorage.insight.live.problems import bad_question
from moorage.insight.live.set_paths import set_path, toleration
from moorage.insight.words.closest import closest
from moorage.state.cluster import ClusterState

Document = dict[str, Any]

_MOST_CHANGES = 1000
_SHOWN = 20
_EXTENDERS_LEFT_OUT = "extenders are not asked here: what they would filter out or prefer does not count"


class TryBody(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """What is to be tried: a pod, and what would be otherwise."""

    pod: Document | str
    """A string is the text of one, YAML or JSON."""
    set: list[str] = []
    tolerate: list[str] = []
    extra_nodes: list[Document] = []
    without_pods: list[str] = []
    config: str = ""
    advise: bool = False


def read_try(body: bytes) -> TryBody:
    """Raises Problem for what is not such a body."""
    try:
        return msgspec.json.decode(body, type=TryBody)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise bad_question(f"the body: {error}") from None


def try_pod(copy: Copy, asked: TryBody) -> Document:
    """The answer, without words; raises Problem."""
    _change_the_cluster(copy, asked)
    profiles = copy.configured(asked.config) if asked.config else copy.profiles
    pod = _pod(copy, asked, profiles)
    profile = profiles.get(pod.spec.scheduler_name)
    if profile is None:
        names = ", ".join(sorted(profiles)[:_SHOWN])
        wanted = pod.spec.scheduler_name[:253]
        raise bad_question(f"pod: no profile is called {wanted!r}; spec.schedulerName may be {names}")
    known = copy.services.door.find(pod)
    if known is not None:
        copy.take_off(known)
    table = copy.services.state.table
    raw = pod.raw
    if profile.gangs is not None:
        pod = _among_members(copy, pod)
    with evaluated(profile, pod) as (evaluation, gang):
        answer = evaluation.document()
        answer |= {"pod": raw, "nodes": len(table), "onNode": "" if known is None else known.spec.node_name}
        if not answer["feasible"]:
            decision = evaluation.decision
            answer["closest"] = None if decision is None else closest(table, pod, decision.statuses)
    if gang is not None:
        answer["gang"] = gang
    answer["failedPlugins"] = sorted(copy.failed_plugins.counts)
    if asked.advise and (not answer["feasible"] or (gang is not None and not gang["fits"])):
        answer["advice"] = advice(copy, profile, pod)
    if copy.extenders_left_out:
        answer["notes"] = [_EXTENDERS_LEFT_OUT]
    return answer


def _among_members(copy: Copy, pod: Pod) -> Pod:
    """The pod in the state, where it counts as a member of its gang; for that it takes a uid."""
    if not pod.uid:
        metadata = {**pod.raw["metadata"], "uid": f"{pod.namespace}/{pod.name}"}
        pod = from_document(Pod, {**pod.raw, "metadata": metadata})
    copy.services.door.put(pod)
    return pod


def advice(copy: Copy, profile: Profile, pod: Pod) -> list[Document]:
    from moorage.insight.advice.advising import advise

    return [each.document() for each in advise(copy.services, profile, pod)]


def _change_the_cluster(copy: Copy, asked: TryBody) -> None:
    if len(asked.extra_nodes) + len(asked.without_pods) > _MOST_CHANGES:
        raise bad_question(f"extraNodes, withoutPods: more than {_MOST_CHANGES} changes are too many")
    for place, document in enumerate(asked.extra_nodes):
        node = _read(Node, document, f"extraNodes[{place}]")
        copy.services.door.put(node)
    for key in asked.without_pods:
        found = find_pod(copy, key)
        if found is None:
            raise bad_question(f"withoutPods: there is no pod {key[:320]!r}; write it like default/web-1")
        copy.take_off(found)


def find_pod(copy: Copy, key: str) -> Pod | None:
    """A pod that the scheduler knows, by namespace and name."""
    namespace, _, name = key.partition("/")
    return copy.services.door.find(_bare(namespace, name))


def _bare(namespace: str, name: str) -> Pod:
    pod = Pod()
    pod.metadata.namespace, pod.metadata.name = namespace, name
    return pod


def _pod(copy: Copy, asked: TryBody, profiles: Mapping[str, Profile]) -> Pod:
    """The pod as it is to be tried: without a node, and with what is set."""
    given = asked.pod if isinstance(asked.pod, dict) else _document(asked.pod)
    if given.keys() <= {"namespace", "name"}:
        namespace, name = str(given.get("namespace") or "default"), str(given.get("name") or "")
        known = copy.services.door.find(_bare(namespace, name))
        if known is None:
            raise bad_question(f"pod: the scheduler knows no pod {namespace}/{name}"[:400])
        document = without_node(known, copy.services.state)
    else:
        document = deepcopy(given)
        kind = document.setdefault("kind", "Pod")
        if kind != "Pod":
            raise bad_question(f"pod: its kind is {str(kind)[:100]!r}, not Pod")
        metadata = document.setdefault("metadata", {})
        if isinstance(metadata, dict):
            metadata.setdefault("namespace", "default")
            metadata.setdefault("name", "tried")
        _no_node(document)
        spec = document.get("spec")
        if isinstance(spec, dict) and len(profiles) and not spec.get("schedulerName"):
            usual = "default-scheduler" if "default-scheduler" in profiles else next(iter(profiles))
            spec["schedulerName"] = usual
    for text in asked.set:
        set_path(document, text)
    for text in asked.tolerate:
        tolerated = toleration(text)
        set_path(document, f"spec.tolerations[{_count(document)}]={msgspec.json.encode(tolerated).decode()}")
    pod: Pod = _read(Pod, document, "pod")
    return pod


def _document(text: str) -> Document:
    try:
        found = read(text)
    except DocumentError as error:
        raise bad_question(f"pod: {error}"[:400]) from None
    if found.more_follow:
        raise bad_question("pod: the text holds more than one document; give one pod")
    if not isinstance(found.value, dict):
        raise bad_question("pod: the text is not that of a pod; write it as a manifest has it")
    value: Document = found.value
    return value


def without_node(pod: Pod, state: ClusterState) -> Document:
    """The document of a pod as it was before it had a node."""
    # What comes in a list has no kind of its own.
    document = {"apiVersion": pod.api_version(), "kind": pod.kind, **deepcopy(pod.raw)}
    if pod.spec.node_name or state.placement(pod.uid) is not None:
        _no_node(document)
    return document


def _no_node(document: Document) -> None:
    document.pop("status", None)
    spec = document.get("spec")
    if isinstance(spec, dict):
        spec.pop("nodeName", None)


def _count(document: Document) -> int:
    spec = document.get("spec")
    tolerations = spec.get("tolerations") if isinstance(spec, dict) else None
    return len(tolerations) if isinstance(tolerations, list) else 0


def _read(kind: Any, document: Document, where: str) -> Any:
    if not isinstance(document.get("metadata"), dict) or not document["metadata"].get("name"):
        raise bad_question(f"{where}: it has no metadata.name")
    if document.get("kind") not in (None, kind.kind):
        raise bad_question(f"{where}: its kind is {str(document['kind'])[:100]!r}, not {kind.kind}")
    try:
        return from_document(kind, document)
    except DecodeError as error:
        raise bad_question(f"{where}: {error}") from None
