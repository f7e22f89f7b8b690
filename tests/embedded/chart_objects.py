"""Objects that charts hold beside workloads, good and bad ones, for both API servers."""

from __future__ import annotations

import base64
from typing import Any

Document = dict[str, Any]

NETWORKING = "/apis/networking.k8s.io/v1"
IN_TEAM = f"{NETWORKING}/namespaces/team"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/team/horizontalpodautoscalers"
OLD_AUTOSCALERS = "/apis/autoscaling/v1/namespaces/team/horizontalpodautoscalers"
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def spec(_name: str = "x", /, **fields: Any) -> Document:
    return {"metadata": {"name": _name}, "spec": fields}


# Ingresses


def rule(path: Document, host: str | None = None) -> Document:
    return {"http": {"paths": [path]}, **({} if host is None else {"host": host})}


def backend(_name: str = "web", /, **port: Any) -> Document:
    return {"service": {"name": _name, "port": port or {"number": 80}}}


def path(text: str | None = "/", kind: str | None = "Prefix", **more: Any) -> Document:
    found: Document = {"backend": backend(), **more}
    return found | ({} if text is None else {"path": text}) | ({} if kind is None else {"pathType": kind})


INGRESSES = [
    spec(defaultBackend=backend()),
    spec(rules=[rule(path(), "a.example.com")], ingressClassName="nginx"),
    spec(rules=[rule(path(None, "ImplementationSpecific"), "*.example.com")], tls=[{}]),
    spec(rules=[rule(path("/a"))], tls=[{"hosts": ["a.b", "*.c.d"], "secretName": "s"}]),
    spec(defaultBackend={"resource": {"apiGroup": "a.b", "kind": "K", "name": "n"}}),
    {**spec(defaultBackend=backend()), "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}},
    {"metadata": {"name": "x", "annotations": {"kubernetes.io/ingress.class": "n"}}, "spec": {}},
    {
        "metadata": {"name": "x", "annotations": {"kubernetes.io/ingress.class": "n"}},
        "spec": {"defaultBackend": backend("a")},
    },
    {
        "metadata": {"name": "x", "annotations": {"kubernetes.io/ingress.class": "n"}},
        "spec": {"defaultBackend": backend("a"), "ingressClassName": "m"},
    },
    spec(),
    spec(defaultBackend={}),
    spec(defaultBackend={**backend(), "resource": {"kind": "K", "name": "n"}}),
    spec(defaultBackend={"resource": {"apiGroup": "A!", "kind": "a/b", "name": ""}}),
    spec(defaultBackend=backend("", number=1, name="http")),
    spec(defaultBackend=backend("A", name="a--")),
    spec(defaultBackend=backend("1a", number=99999)),
    spec(defaultBackend={"service": {"name": "a"}}),
    *(
        spec(rules=[rule(each)])
        for each in (
            path("a"),
            path(None),
            path("/a//b/./c/../d%2f%2F"),
            path("/a/.."),
            path("/a/."),
            path("/", None),
            path("/", "Odd"),
            path("a", "ImplementationSpecific"),
            path("", "Exact", backend={}),
            path("", "Odd", backend={}),
        )
    ),
    *(spec(rules=[rule(path(), each)]) for each in ("1.2.3.4", "a_b", "*", "*.*.a", "a.*", "a." * 130, "")),
    spec(rules=[{"host": "a.b"}, {"http": {"paths": []}}, {"http": {}}]),
    spec(rules=[rule(path())], tls=[{"hosts": ["A", "*", ""], "secretName": "A"}], ingressClassName="B!"),
]

INGRESS_CLASSES = [
    spec(controller="a.b/c"),
    spec(controller="a.b/c", parameters={"kind": "K", "name": "n"}),
    spec(
        controller="a.b/c",
        parameters={"apiGroup": "g.h", "kind": "K", "name": "n", "scope": "Namespace", "namespace": "s"},
    ),
    {**spec(controller="a/b"), "metadata": {"name": "X!"}},
    spec(),
    spec(controller="abc"),
    spec(controller="/x"),
    spec(controller="A!/x"),
    spec(controller="a.b/ü"),
    spec(controller="a/" + "x" * 260),
    spec(controller="a/b", parameters={}),
    spec(controller="a/b", parameters={"kind": "a/b", "name": "c%", "apiGroup": "", "scope": "Odd"}),
    spec(controller="a/b", parameters={"kind": "a", "name": "c", "scope": "Namespace"}),
    spec(controller="a/b", parameters={"kind": "a", "name": "c", "scope": "Namespace", "namespace": "A"}),
    spec(controller="a/b", parameters={"kind": "a", "name": "c", "namespace": "a"}),
]


# Network policies


def ports(*given: Document) -> Document:
    return spec(podSelector={}, ingress=[{"ports": list(given)}])


def peer(**given: Any) -> Document:
    return spec(podSelector={"matchLabels": {"a": "b"}}, egress=[{"to": [given]}])


def block(cidr: str, *excepted: str) -> Document:
    return peer(ipBlock={"cidr": cidr, "except": list(excepted)})


POLICIES = [
    spec(podSelector={}),
    spec(),
    spec(podSelector={"matchLabels": {"app": "web"}}, policyTypes=["Ingress", "Egress"]),
    spec(podSelector={}, egress=[{}], ingress=[]),
    ports({"port": 80}, {"port": "http", "protocol": "UDP"}, {"port": 80, "endPort": 90}, {}),
    peer(namespaceSelector={}, podSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
    block("10.0.0.0/8", "10.1.0.0/16"),
    block("2001:DB8::/32", "2001:db8:0:0::/64"),
    spec(podSelector={"matchLabels": {"a b": "c d"}}),
    spec(podSelector={"matchExpressions": [{"key": "!", "operator": "Odd", "values": ["a b"]}]}),
    spec(podSelector={}, policyTypes=["Odd"]),
    spec(podSelector={}, policyTypes=["Ingress", "Egress", "Ingress"]),
    ports({"protocol": "Odd"}),
    ports({"port": 0}, {"port": 70000}, {"port": "a b"}, {"port": ""}),
    ports({"port": 80, "endPort": 70}, {"port": 80, "endPort": 70000}, {"port": "http", "endPort": 7}),
    ports({"endPort": 80}),
    peer(),
    peer(ipBlock={"cidr": "10.0.0.0/8"}, podSelector={}),
    peer(ipBlock={}),
    block("10.0.0.0"),
    block("10.0.0.1/8"),
    block("010.0.0.0/8"),
    block("10.0.0.0/08", "x"),
    block("::ffff:10.0.0.0/104"),
    block("10.0.0.0/8", "10.0.0.0/8", "11.0.0.0/16", "2001:db8::/64", "10.0.0.1/16", "x"),
]

ADDRESSES: list[Document] = [
    {"metadata": {"name": "10.96.9.9"}, "spec": {"parentRef": {"resource": "services", "name": "a"}}},
    {
        "metadata": {"name": "2001:db8::1"},
        "spec": {"parentRef": {"group": "a.b", "resource": "c", "namespace": "d", "name": "e"}},
    },
    {"metadata": {"name": "10.96.9.9"}, "spec": {}},
    {"metadata": {"name": "2001:DB8::1"}, "spec": {"parentRef": {}}},
    {"metadata": {"name": "010.1.1.1"}, "spec": {"parentRef": {"resource": "a/b", "name": "c%"}}},
    {"metadata": {"name": "x"}, "spec": {"parentRef": {"group": "A", "resource": "a", "name": "b"}}},
]

RANGES = [
    spec(cidrs=["10.97.0.0/16"]),
    spec(cidrs=["10.97.0.0/16", "2001:db8::/64"]),
    {**spec(cidrs=["10.97.0.0/16"]), "status": {"conditions": []}},
    spec(),
    spec(cidrs=["10.97.0.0/16", "10.98.0.0/16"]),
    spec(cidrs=["a", "b"]),
    spec(cidrs=["10.97.0.1/16"]),
    spec(cidrs=["2001:DB8::/64"]),
    spec(cidrs=["10.97.0.0/16", "2001:db8::/64", "10.0.0.0/8"]),
]


# Autoscalers


def autoscaler(**given: Any) -> Document:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return spec(**{"scaleTargetRef": target, "maxReplicas": 5, **given})


def metric(kind: str, **source: Any) -> Document:
    name = kind[:1].lower() + kind[1:]
    return {"type": kind, name: source}


def target(kind: str = "Value", **amounts: Any) -> Document:
    return {"type": kind, **amounts}


DESCRIBED = {"apiVersion": "v1", "kind": "Service", "name": "web"}
GOOD_METRICS = [
    metric("Resource", name="cpu", target=target("Utilization", averageUtilization=70)),
    metric("Resource", name="memory", target=target("AverageValue", averageValue="100Mi")),
    metric("Resource", name="cpu", target=target("AverageValue", averageValue="500m")),
    metric(
        "ContainerResource", name="cpu", container="c", target=target("Utilization", averageUtilization=7)
    ),
    metric("Pods", metric={"name": "hits"}, target=target("AverageValue", averageValue="1k")),
    metric("Object", metric={"name": "m"}, describedObject=DESCRIBED, target=target(value="10")),
    metric(
        "Object",
        metric={"name": "m"},
        describedObject=DESCRIBED,
        target=target("AverageValue", averageValue="2"),
    ),
    metric(
        "External",
        metric={"name": "q", "selector": {"matchLabels": {"a": "b"}}},
        target=target("AverageValue", averageValue="3"),
    ),
    metric("External", metric={"name": "q"}, target=target(value="3500m")),
]
BEHAVIORS: list[Document] = [
    {},
    {"scaleUp": {"selectPolicy": "Min", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}},
    {"scaleDown": {"stabilizationWindowSeconds": 30, "tolerance": "0.2"}},
    {"scaleDown": {"selectPolicy": "Disabled"}, "scaleUp": {"stabilizationWindowSeconds": 0}},
]
_ODD_POLICIES = [
    {"type": "Odd", "value": 0, "periodSeconds": 0},
    {"type": "Pods", "value": -1, "periodSeconds": 1801},
    {},
]
GOOD_AUTOSCALERS = [
    autoscaler(),
    autoscaler(minReplicas=2, maxReplicas=2),
    autoscaler(scaleTargetRef={"kind": "ReplicationController", "name": "web"}),
    autoscaler(metrics=GOOD_METRICS),
    *(autoscaler(metrics=[each]) for each in GOOD_METRICS),
    *(autoscaler(behavior=each) for each in BEHAVIORS),
    {**autoscaler(), "status": {"currentReplicas": 3, "desiredReplicas": 3}},
]
BAD_AUTOSCALERS: list[Document] = [
    spec(),
    autoscaler(minReplicas=0),
    autoscaler(minReplicas=-1, maxReplicas=-2),
    autoscaler(minReplicas=3, maxReplicas=2),
    autoscaler(scaleTargetRef={"apiVersion": "a/b/c", "kind": "a/b", "name": "c%"}),
    autoscaler(scaleTargetRef={"apiVersion": "v1", "kind": "Pod", "name": "a"}),
    autoscaler(scaleTargetRef={}),
    autoscaler(behavior={"scaleUp": {"selectPolicy": "Odd", "tolerance": "-1"}}),
    autoscaler(behavior={"scaleDown": {"policies": _ODD_POLICIES, "stabilizationWindowSeconds": -1}}),
    autoscaler(behavior={"scaleDown": {"stabilizationWindowSeconds": 3601}}),
    *(
        autoscaler(metrics=[each])
        for each in (
            {},
            {"type": "Odd"},
            {"type": "Resource"},
            {"type": "Resource", "pods": {}},
            {"type": "Pods", **metric("Resource", name="cpu", target={}), "external": {}},
            metric("Resource", name="", target={}),
            metric("Resource", name="a", target=target("Odd", averageUtilization=0, averageValue="0")),
            metric("ContainerResource", name="a b", container="A", target=target(value="-1")),
            metric("ContainerResource", name="", container="", target={}),
            metric("Pods", metric={}, target=target(value="1")),
            metric("Pods", metric={"name": "a/b"}, target=target("AverageValue", averageValue="-1")),
            metric("Object", metric={"name": "a"}, describedObject={}, target={}),
            metric(
                "Object",
                metric={"name": "a"},
                describedObject={"apiVersion": "a/b/c", "kind": "K", "name": "n"},
                target=target(value="1"),
            ),
            metric("External", metric={"name": "a"}, target=target(value="1", averageValue="1")),
            metric("External", metric={"name": ""}, target={}),
        )
    ),
]
_NOTES = "autoscaling.alpha.kubernetes.io"
FIRST_AUTOSCALERS = [
    autoscaler(),
    autoscaler(targetCPUUtilizationPercentage=60),
    autoscaler(targetCPUUtilizationPercentage=0),
    *(
        {
            **autoscaler(targetCPUUtilizationPercentage=60),
            "metadata": {"name": "x", "annotations": {"a": "b", f"{_NOTES}/{name}": text}},
        }
        for name, text in (
            ("metrics", '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1k"}}]'),
            ("metrics", '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"1Gi"}}]'),
            ("metrics", "nonsense"),
            ("behavior", '{"ScaleUp":{"SelectPolicy":"Min","Policies":null}}'),
            ("behavior", "{}"),
            ("conditions", "[]"),
        )
    ),
]


# Flow control


def schema(**given: Any) -> Document:
    return spec(**{"priorityLevelConfiguration": {"name": "workload-low"}, **given})


def flow(subject: Document, **rules: Any) -> Document:
    everything = [{"verbs": ["*"], "nonResourceURLs": ["*"]}]
    return schema(rules=[{"subjects": [subject], **(rules or {"nonResourceRules": everything})}])


USER = {"kind": "User", "user": {"name": "u"}}
FLOW_SCHEMAS = [
    schema(),
    schema(matchingPrecedence=77, distinguisherMethod={"type": "ByNamespace"}),
    flow(USER),
    flow({"kind": "Group", "group": {"name": "g"}}),
    flow({"kind": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "*"}}),
    flow(
        USER,
        resourceRules=[
            {"verbs": ["get"], "apiGroups": ["a"], "resources": ["*"], "namespaces": ["a", "b"]},
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["b"], "clusterScope": True},
        ],
    ),
    spec(),
    schema(matchingPrecedence=1),
    schema(matchingPrecedence=-1),
    schema(matchingPrecedence=10001, distinguisherMethod={"type": "Odd"}),
    schema(priorityLevelConfiguration={"name": "A!"}),
    schema(rules=[{}]),
    flow({}),
    flow({"kind": "User"}),
    flow({"kind": "Group", "user": {"name": ""}, "group": {"name": ""}, "serviceAccount": {}}),
    flow({"kind": "ServiceAccount", "user": {}, "group": {}}),
    flow({"kind": "ServiceAccount", "serviceAccount": {"namespace": "A", "name": "B!"}}),
    flow({"kind": "ServiceAccount", "serviceAccount": {}}),
    flow(USER, resourceRules=[{}]),
    flow(
        USER,
        resourceRules=[
            {"verbs": ["*", "a"], "apiGroups": ["*", "a"], "resources": ["*", "a"], "namespaces": ["*", "a"]},
            {"verbs": ["odd"], "apiGroups": ["a"], "resources": ["a"], "namespaces": ["A"]},
        ],
    ),
    flow(
        USER,
        nonResourceRules=[
            {},
            {"verbs": ["odd"], "nonResourceURLs": ["*", "/a"]},
            {"verbs": ["get"], "nonResourceURLs": ["", "a", "/a b", "//", "/*/a", "/a*", "/a/*", "/"]},
        ],
    ),
    {**schema(), "metadata": {"name": "exempt"}},
]


def limited(**given: Any) -> Document:
    return spec(type="Limited", limited={"limitResponse": {"type": "Reject"}, **given})


def queued(**queuing: int) -> Document:
    return limited(limitResponse={"type": "Queue", "queuing": queuing})


LEVELS = [
    limited(),
    queued(),
    queued(queues=16, handSize=4, queueLengthLimit=10),
    limited(nominalConcurrencyShares=0, lendablePercent=50, borrowingLimitPercent=0),
    spec(),
    spec(type="Odd"),
    spec(type="Limited"),
    spec(type="Exempt", exempt={}),
    {**spec(type="Exempt", exempt={"lendablePercent": 101}), "metadata": {"name": "exempt"}},
    {**limited(), "metadata": {"name": "exempt"}},
    spec(type="Limited", exempt={}, limited={}),
    limited(nominalConcurrencyShares=-1, lendablePercent=101, borrowingLimitPercent=-1),
    limited(limitResponse={"type": "Reject", "queuing": {}}),
    limited(limitResponse={"type": "Queue"}),
    limited(limitResponse={"type": "Odd"}),
    queued(queues=-1, handSize=-1, queueLengthLimit=-1),
    queued(queues=10000001, handSize=1),
    queued(queues=4, handSize=8),
    queued(queues=10000000, handSize=20),
]


# Certificates and servers


def signing_request(*groups: str) -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding
    from cryptography.x509.oid import NameOID

    parts = ((NameOID.COMMON_NAME, "someone"), *((NameOID.ORGANIZATION_NAME, group) for group in groups))
    name = x509.Name([x509.NameAttribute(*each) for each in parts])
    builder = x509.CertificateSigningRequestBuilder().subject_name(name)
    return builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)


def signing_requests() -> list[Document]:
    """The same for both servers, so it is made once for each run."""
    good = base64.b64encode(signing_request()).decode()
    usual: Document = {"request": good, "signerName": "example.com/one", "usages": ["client auth"]}
    text = base64.b64encode(b"nonsense").decode()
    mighty = base64.b64encode(signing_request("some", "system:masters")).decode()
    for_clients = "kubernetes.io/kube-apiserver-client"
    return [
        spec(**usual),
        spec(**usual, expirationSeconds=3600),
        spec(**usual, username="somebody", groups=["else"], uid="1", extra={"a": ["b"]}),
        {**spec(**usual), "status": {"conditions": [{"type": "Approved", "status": "True"}]}},
        spec(),
        spec(**{**usual, "request": text}),
        spec(**{**usual, "usages": ["odd", "any", "any"]}),
        spec(**usual, expirationSeconds=599),
        *(
            spec(**{**usual, "signerName": name})
            for name in (
                "kubernetes.io/legacy-unknown",
                "one",
                "a/b/c",
                "example/one",
                "A.b/c",
                "a.b/C!",
                for_clients,
            )
        ),
        spec(**{**usual, "request": mighty}),
        spec(**{**usual, "request": mighty, "signerName": for_clients}),
        spec(**{**usual, "request": mighty, "signerName": for_clients, "usages": ["odd"]}),
    ]


def api_service(**given: Any) -> Document:
    usual = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": {"name": "metrics", "namespace": "team"},
        "insecureSkipTLSVerify": True,
    }
    chosen = {name: value for name, value in {**usual, **given}.items() if value is not None}
    return {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": chosen}


API_SERVICE_OBJECTS = [
    api_service(),
    api_service(service={"name": "metrics", "namespace": "team", "port": 8443}),
    api_service(service=None, insecureSkipTLSVerify=None),
    {**api_service(), "metadata": {"name": "other"}},
    api_service(group="", version="v2"),
    api_service(group="A!", version="V1"),
    api_service(groupPriorityMinimum=0, versionPriority=0),
    api_service(groupPriorityMinimum=20001, versionPriority=1001),
    api_service(service=None, caBundle="YWJj"),
    api_service(service={}),
    api_service(service={"name": "a", "namespace": "b", "port": 70000}),
    api_service(caBundle="YWJj"),
    {"metadata": {"name": "x"}},
]

CREATED: dict[str, list[Document]] = {
    f"{IN_TEAM}/ingresses": INGRESSES,
    f"{NETWORKING}/ingressclasses": INGRESS_CLASSES,
    f"{IN_TEAM}/networkpolicies": POLICIES,
    f"{NETWORKING}/ipaddresses": ADDRESSES,
    f"{NETWORKING}/servicecidrs": RANGES,
    AUTOSCALERS: [*GOOD_AUTOSCALERS, *BAD_AUTOSCALERS],
    OLD_AUTOSCALERS: FIRST_AUTOSCALERS,
    f"{FLOWS}/flowschemas": FLOW_SCHEMAS,
    f"{FLOWS}/prioritylevelconfigurations": LEVELS,
    API_SERVICES: API_SERVICE_OBJECTS,
}
"""What is sent to be created, by where it is sent."""
