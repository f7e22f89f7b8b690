"""The roles and bindings that every cluster starts with, from a recorded table.

A block of the table is a role: its kind and name, then `aggregated` if it is made of other roles, `into=` the
role that it is a part of, `to=` whom it is bound to, and `binding=` the name of that binding where it is not
the role's. Each further line is a rule: its verbs, groups and resources, and `names=` those of the objects;
or, about what is no resource, its verbs and paths. `gate=` names the alpha feature of a rule.
"""

from __future__ import annotations

from pathlib import Path

from moorage.cluster.access.rules import aggregated_rules, is_aggregated
from moorage.cluster.base.store import Document

DATA = Path(__file__).with_name("data") / "roles.txt"

_GROUP = "rbac.authorization.k8s.io"
_NAMESPACE = "kube-system"


def bootstrap_roles(gates: frozenset[str] = frozenset()) -> list[tuple[str, Document]]:
    """The objects, each with the resource it is one of; the namespace kube-system has to exist."""
    blocks = DATA.read_text().rstrip().split("\n\n")
    found = [document for block in blocks for document in _read(block, gates)]
    roles = [document for document in found if document["kind"] == "ClusterRole"]
    for role in filter(is_aggregated, roles):
        role["rules"] = aggregated_rules(role, roles)
    return [(f"{document['kind'].lower()}s.{_GROUP}", document) for document in found]


def _read(block: str, gates: frozenset[str]) -> list[Document]:
    """A role, and its binding if it has one."""
    head, *lines = block.split("\n ")
    kind, name, *words = head.split()
    options = dict(word.partition("=")[::2] for word in words)
    role = _object(kind, name)
    role["rules"] = [_rule(words) for line in lines if (words := _behind_gates(line.split(), gates))]
    if "into" in options:
        role["metadata"]["labels"][_aggregation_label(options["into"])] = "true"
    if "aggregated" in options:
        selector = {"matchLabels": {_aggregation_label(name): "true"}}
        role["aggregationRule"] = {"clusterRoleSelectors": [selector]}
    if "to" not in options:
        return [role]
    binding = _object(f"{kind}Binding", options.get("binding", name))
    binding["roleRef"] = {"apiGroup": _GROUP, "kind": kind, "name": name}
    if options["to"]:
        binding["subjects"] = [_subject(*subject.split("/")) for subject in options["to"].split(",")]
    return [role, binding]


def _object(kind: str, name: str) -> Document:
    metadata: Document = {
        "name": name,
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    if not kind.startswith("Cluster"):
        metadata["namespace"] = _NAMESPACE
    return {"kind": kind, "apiVersion": f"{_GROUP}/v1", "metadata": metadata}


def _aggregation_label(name: str) -> str:
    return f"{_GROUP}/aggregate-to-{name}"


def _behind_gates(words: list[str], gates: frozenset[str]) -> list[str]:
    """The words of a rule that holds; none otherwise."""
    if not words[0].startswith("gate="):
        return words
    return words[1:] if words[0].removeprefix("gate=") in gates else []


def _rule(words: list[str]) -> Document:
    fields = ("verbs", "nonResourceURLs") if len(words) == 2 else ("verbs", "apiGroups", "resources")
    rule = {field: word.split(",") for field, word in zip(fields, words, strict=False)}
    if "apiGroups" in rule:
        rule["apiGroups"] = ["" if group == "core" else group for group in rule["apiGroups"]]
    if len(words) == 4:
        rule["resourceNames"] = words[3].removeprefix("names=").split(",")
    return rule


def _subject(kind: str, name: str) -> Document:
    place = {"namespace": _NAMESPACE} if kind == "ServiceAccount" else {"apiGroup": _GROUP}
    return {"kind": kind, "name": name, **place}
