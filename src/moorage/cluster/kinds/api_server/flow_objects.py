"""The FlowSchemas and PriorityLevelConfigurations that every cluster has."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document

_EVERYTHING: Document = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}
_EVERYBODY = ("system:unauthenticated", "system:authenticated")


def _level(shares: int, lendable: int, queues: int = 0, hand_size: int = 6) -> Document:
    queuing = {"queues": queues, "handSize": hand_size, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing} if queues else {"type": "Reject"}
    limited = {
        "nominalConcurrencyShares": shares,
        "limitResponse": response,
        "lendablePercent": lendable,
    }
    return {"type": "Limited", "limited": limited}


_LEVELS: dict[str, Document] = {
    "catch-all": _level(5, 0),
    "exempt": {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}},
    "system": _level(30, 33, 64),
    "node-high": _level(40, 25, 64),
    "leader-election": _level(10, 0, 16, 4),
    "workload-high": _level(40, 50, 128),
    "workload-low": _level(100, 90, 128),
    "global-default": _level(20, 50, 128),
}


def _groups(*names: str) -> list[Document]:
    return [{"kind": "Group", "group": {"name": name}} for name in names]


def _users(*names: str) -> list[Document]:
    return [{"kind": "User", "user": {"name": f"system:{name}"}} for name in names]


def _rule(groups: str, *resources: str, verbs: tuple[str, ...] = ("*",), whole: bool = False) -> Document:
    rule = {"verbs": list(verbs), "apiGroups": [groups], "resources": list(resources), "namespaces": ["*"]}
    return {**rule, "clusterScope": True} if whole else rule


def _schema(
    level: str, precedence: int, method: str, subjects: list[Document], **rules: list[Document]
) -> Document:
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **({"distinguisherMethod": {"type": method}} if method else {}),
        "rules": [{"subjects": subjects, **(rules or _EVERYTHING)}],
    }


_ACCOUNTS: list[Document] = [
    {"kind": "ServiceAccount", "serviceAccount": {"namespace": "kube-system", "name": "*"}}
]
_LEASES = "coordination.k8s.io"
_SCHEMAS: dict[str, Document] = {
    "exempt": _schema("exempt", 1, "", _groups("system:masters")),
    "catch-all": _schema("catch-all", 10000, "ByUser", _groups(*_EVERYBODY)),
    "system-nodes": _schema("system", 500, "ByUser", _groups("system:nodes")),
    "system-node-high": _schema(
        "node-high",
        400,
        "ByUser",
        _groups("system:nodes"),
        resourceRules=[_rule("", "nodes", "nodes/status", whole=True), _rule(_LEASES, "leases")],
    ),
    "probes": _schema(
        "exempt",
        2,
        "",
        _groups(*_EVERYBODY),
        nonResourceRules=[{"verbs": ["get"], "nonResourceURLs": ["/healthz", "/readyz", "/livez"]}],
    ),
    "system-leader-election": _schema(
        "leader-election",
        100,
        "ByUser",
        [*_users("kube-controller-manager", "kube-scheduler"), *_ACCOUNTS],
        resourceRules=[_rule(_LEASES, "leases", verbs=("get", "create", "update"))],
    ),
    "kube-controller-manager": _schema(
        "workload-high", 800, "ByNamespace", _users("kube-controller-manager")
    ),
    "kube-scheduler": _schema("workload-high", 800, "ByNamespace", _users("kube-scheduler")),
    "kube-system-service-accounts": _schema("workload-high", 900, "ByNamespace", _ACCOUNTS),
    "service-accounts": _schema("workload-low", 9000, "ByUser", _groups("system:serviceaccounts")),
    "global-default": _schema("global-default", 9900, "ByUser", _groups(*_EVERYBODY)),
}
_MANDATORY = ("exempt", "catch-all")
_GROUP = "flowcontrol.apiserver.k8s.io"


def flow_objects() -> list[tuple[str, Document]]:
    """All of them, with the resource of each."""
    kinds = {"PriorityLevelConfiguration": _LEVELS, "FlowSchema": _SCHEMAS}
    return [
        (
            f"{kind.lower()}s.{_GROUP}",
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": kind,
                "metadata": {
                    "name": name,
                    "annotations": {"apf.kubernetes.io/autoupdate-spec": "true"},
                },
                "spec": spec,
            },
        )
        for kind, specs in kinds.items()
        for name, spec in specs.items()
    ]


FIXED: dict[str, dict[str, Document]] = {
    "flowschemas": {name: {"spec": _SCHEMAS[name]} for name in _MANDATORY},
    "prioritylevelconfigurations": {name: {"spec": _LEVELS[name]} for name in _MANDATORY},
}
"""Those whose spec nobody can change."""


# As messages show them: under the names they have inside Kubernetes, with all that is absent


def _shown(document: Document | None, **fields: Any) -> Document | None:
    """`fields` are the names, and what stands for one that is absent; a function shows what is inside."""
    if document is None:
        return None
    shown = {}
    for name, absent in fields.items():
        key = {"APIGroups": "apiGroups"}.get(name, name[:1].lower() + name[1:])
        value = document.get(key)
        if callable(absent):
            shown[name] = list(map(absent, value)) if isinstance(value, list) else absent(value)
        else:
            shown[name] = absent if value is None else value
    return shown


def _shown_name(document: Document | None) -> Document | None:
    return _shown(document, Name="")


def _shown_subject(subject: Document) -> Document | None:
    return _shown(
        subject,
        Kind="",
        User=_shown_name,
        Group=_shown_name,
        ServiceAccount=lambda account: _shown(account, Namespace="", Name=""),
    )


def _shown_rules(rules: Document) -> Document | None:
    def resource(rule: Document | None) -> Document | None:
        return _shown(rule, Verbs=None, APIGroups=None, Resources=None, ClusterScope=False, Namespaces=None)

    return _shown(
        rules,
        Subjects=_shown_subject,
        ResourceRules=resource,
        NonResourceRules=lambda rule: _shown(rule, Verbs=None, NonResourceURLs=None),
    )


def shown_schema_spec(spec: Document) -> Document | None:
    return _shown(
        spec,
        PriorityLevelConfiguration=lambda reference: _shown_name(reference or {}),
        MatchingPrecedence=0,
        DistinguisherMethod=lambda method: _shown(method, Type=""),
        Rules=lambda rules: _shown_rules(rules) if rules else None,
    )


def shown_level_spec(spec: Document) -> Document | None:
    def queuing(given: Document | None) -> Document | None:
        return _shown(given, Queues=0, HandSize=0, QueueLengthLimit=0)

    def limited(given: Document | None) -> Document | None:
        return _shown(
            given,
            NominalConcurrencyShares=0,
            LimitResponse=lambda response: _shown(response or {}, Type="", Queuing=queuing),
            LendablePercent=None,
            BorrowingLimitPercent=None,
        )

    def exempt(given: Document | None) -> Document | None:
        return _shown(given, NominalConcurrencyShares=None, LendablePercent=None)

    return _shown(spec, Type="", Limited=limited, Exempt=exempt)
