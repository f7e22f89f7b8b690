"""What kubectl reads, with `get` in all its forms, `describe`, `events` and so on, beside the real server."""

import json

import pytest

from tests.embedded.answers import PARTIAL, PARTIAL_LIST, TABLE, Question, compare_answers, get
from tests.embedded.comparing import Pair, mask

NAMESPACED = [
    "configmaps",
    "controllerrevisions",
    "csistoragecapacities",
    "daemonsets",
    "deployments",
    "endpoints",
    "endpointslices",
    "events",
    "leases",
    "limitranges",
    "persistentvolumeclaims",
    "poddisruptionbudgets",
    "pods",
    "podtemplates",
    "replicasets",
    "replicationcontrollers",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourcequotas",
    "rolebindings",
    "roles",
    "secrets",
    "serviceaccounts",
    "services",
    "statefulsets",
]
CLUSTER_WIDE = [
    "csidrivers",
    "csinodes",
    "deviceclasses",
    "namespaces",
    "nodes",
    "persistentvolumes",
    "priorityclasses",
    "resourceslices",
    "runtimeclasses",
    "storageclasses",
    "volumeattachments",
    "volumeattributesclasses",
]


@pytest.fixture(scope="module", autouse=True)
def objects(pair: Pair) -> None:
    pair.prepare("""
        create -f kinds.yaml
        # The real server may look at a service before it has heard of its address, and says so.
        delete events -A --field-selector reason=ClusterIPNotAllocated
    """)


NOT_TAKEN = ("ignoreStoreReadErrorWithClusterBreakingPotential", "shardSelector")
"""Parameters that only alpha features look at."""
INITIAL_EVENTS = (
    "watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    "&allowWatchBookmarks=true&fieldSelector=metadata.name%3Dnothing"
)


def of_every_kind(*forms: str) -> str:
    """Commands that get everything there is; of the roles only ours, as the real server has more built in."""
    queries = (
        f"{','.join(NAMESPACED)} -n shop",
        ",".join(CLUSTER_WIDE),
        "clusterrole node-reader all-readers",
        "clusterrolebinding node-reader",
    )
    return "\n".join(f"get {query} {form}" for form in forms for query in queries)


def test_every_kind_as_a_table(pair: Pair) -> None:
    pair.compare(of_every_kind("", "-o wide --show-labels", "-o name"))
    pair.compare("get all -n shop")


def test_every_kind_as_a_document(pair: Pair) -> None:
    pair.compare(of_every_kind("-o json", "-o yaml"))


def test_the_managers_of_every_kind(pair: Pair) -> None:
    # Events have no managers here: nobody applies them, and there are many.
    managed = of_every_kind("-o yaml --show-managed-fields").replace(",events,", ",")
    pair.compare(managed)


def test_lists_as_they_are_sent(pair: Pair) -> None:
    places = [f"/api/v1/namespaces/shop/{plural}" for plural in ("configmaps", "pods", "services")]
    places += ["/apis/apps/v1/namespaces/shop/deployments", "/apis/events.k8s.io/v1/namespaces/shop/events"]
    for accept in ("application/json", TABLE, PARTIAL_LIST):
        compare_answers(pair, get(*places, accept=accept))
    compare_answers(pair, get(*(f"{place}?includeObject=Object" for place in places), accept=TABLE))


def test_the_end_of_the_initial_events(pair: Pair) -> None:
    """The bookmark of a table has a row of an object that is nothing but metadata."""
    core = ("configmaps", "events", "namespaces", "nodes", "pods", "secrets", "services")
    apps = ("daemonsets", "deployments", "replicasets", "statefulsets")
    paths = [f"/api/v1/{plural}" for plural in core] + [f"/apis/apps/v1/{plural}" for plural in apps]
    compare_answers(pair, get(*(f"{path}?{INITIAL_EVENTS}" for path in paths), accept=TABLE))
    path = f"/api/v1/namespaces/shop/configmaps?{INITIAL_EVENTS}"
    asked = [(more, form) for more in ("None", "Object") for form in ("application/json", TABLE, PARTIAL)]
    compare_answers(pair, [Question(f"{path}&includeObject={more}", form) for more, form in asked])


def test_one_object(pair: Pair) -> None:
    pair.compare("""
        get pod plain -n shop
        get pod/plain deployment/web -n shop
        get pod plain rich nothing -n shop
        get pod nothing -n shop
        get pod nothing -n shop --ignore-not-found
        get po,svc -n shop
        get deploy/web -n shop -o wide
        get pod rich -n shop -o json
        get pod rich -n shop -o jsonpath={.spec.nodeName}
        get pod rich -n shop -o jsonpath='{range .spec.containers[*]}{.name}{"\\t"}{.image}{"\\n"}{end}'
        get pod rich -n shop -o jsonpath-as-json='{.spec.tolerations[?(@.key=="dedicated")]}'
        get pod rich -n shop -o go-template={{.metadata.name}}
        get pod rich -n shop -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName,NONE:.spec.nothing
        get pod rich -n shop -o yaml
        get pod rich -n shop -o kyaml
        get deployment web -n shop -o yaml
        get -f kinds.yaml -o name
        get --raw /healthz
        get --raw /readyz
        get --raw /nothing
        get --raw /apis/apps/v1/nothing
        get --raw /api/v1/namespaces/shop/pods/nothing
        get nothing
        get pods.v1.apps
        get deployments.v1.apps -n shop
        get pods.nothing.example.com
        get pod plain --subresource=status -n shop
        get deployment web --subresource=scale -n shop -o yaml
        get pod plain --subresource=nothing -n shop
    """)


def test_selecting_and_sorting(pair: Pair) -> None:
    pair.prepare("create -f lists.yaml")
    pair.compare("""
        get pods
        get pods -o wide
        get pods -A
        get pods -A -o wide --no-headers
        get pods --all-namespaces -o name
        get pods --chunk-size=1
        get pods,nodes -A
        get pods -l app=web
        get pods -l app=web,version!=3
        get pods -l app
        get pods -l !app
        get pods -l 'app in (web,db),version notin (3)'
        get pods -l version>5
        get pods -l nothing=here
        get pods -l ==
        get pods -l a=b=c
        get pods -l a/b/c=1
        get pods -L app -L version
        get pods --show-labels
        get pods --show-kind
        get pods --label-columns=app -o wide
        get pods --field-selector=metadata.name=c
        get pods --field-selector=metadata.name!=c
        get pods --field-selector=spec.nodeName=n1
        get pods --field-selector=spec.nodeName=
        get pods --field-selector=status.phase=Pending,spec.restartPolicy=Never
        get pods --field-selector=spec.schedulerName=other -o name
        get pods --field-selector=status.phase!=Pending
        get pods --field-selector=spec.priority=0
        get pods --field-selector=nothing
        get pods --field-selector=status.podIPs=10.0.0.1
        get replicasets -A --field-selector=status.replicas=0
        get replicationcontrollers -A --field-selector=status.replicas=0
        get nodes --field-selector=spec.unschedulable=true
        get nodes -l zone=a,size
        get events --field-selector=involvedObject.name=c
        get events --field-selector=type=Warning,reason=Failed
        get events.events.k8s.io --field-selector=regarding.name=c
        get events.v1. --field-selector=reason=Pulled
        get secrets -n shop --field-selector=type=kubernetes.io/tls
        get configmaps -n shop --field-selector=metadata.name=settings
        get configmaps -n shop --field-selector=data.colour=blue
        get deployments -A --field-selector=metadata.namespace=shop
        get services -A --field-selector=spec.clusterIP=None
        get namespaces --field-selector=status.phase=Active -o name
        get persistentvolumes --sort-by=.spec.capacity.storage
        get pods --sort-by=.metadata.name
        get pods --sort-by=.metadata.annotations.order
        get pods --sort-by=.spec.containers[0].image -o name
        get pods --sort-by=.metadata.labels.version
        get pods --sort-by=.nothing
        get pods --sort-by={.spec.nodeName} -o wide
        get priorityclasses --sort-by=.value
        get events --sort-by=.lastTimestamp
        get events -o wide
        get pods -n nothing
        get pods -n nothing -o yaml
        get pods -n nothing -o json
    """)


def test_events_and_descriptions(pair: Pair) -> None:
    pair.prepare("apply -f lists.yaml")
    old = mask(r"(?<=\s)\d+(y\d*d?|d)(\d+h)?(?=\s|$) *", "<long ago>")
    counted = mask(r"(\(x\d+ over) \S+\)", r"\1 <time>)")
    pair.compare(
        """
        events
        events -A
        events --for=pod/c
        events --types=Warning
        events -n shop --for=pod/plain
        events -o yaml
        describe pods -n shop
        describe pod c
        describe pod a
        describe pods -l app=db
        describe pod nothing
        describe node machine-1
        describe node machine-2
        describe nodes -l zone=b
        describe deployment web -n shop
        describe replicaset set -n shop
        describe statefulset db -n shop
        describe daemonset agent -n shop
        describe service web open db outside -n shop
        describe configmap settings -n shop
        describe secret password certificate -n shop
        describe serviceaccount robot -n shop
        describe role reader -n shop
        describe rolebinding reader -n shop
        describe clusterrole node-reader
        describe clusterrolebinding node-reader
        describe namespace kube-system
        describe quota quota -n shop
        describe pv disk-1
        describe pvc data bound -n shop
        describe storageclass fast slow
        describe pdb budget -n shop
        describe priorityclass high
        describe endpoints manual -n shop
        describe endpointslice slice -n shop
        describe lease leader -n shop
        describe csinode machine-1
        describe resourceclaim one-gpu -n shop
        describe event old-style -n shop
        """,
        old,
        counted,
    )


def test_what_is_served(pair: Pair) -> None:
    ours, real = (set(result.output.split()) for result in pair.on_both("api-versions"))
    assert ours == real
    groups = sorted({version.rpartition("/")[0] for version in ours})
    pair.compare(
        "\n".join(f"api-resources --api-group={group} -o wide --no-headers" for group in groups),
        mask(r"^componentstatuses .*\n", ""),  # deprecated since 1.19, and there are no components here
        mask(r"^mutatingadmissionpolic.*\n", ""),  # docs/webhooks.md says so
    )
    pair.compare("""
        api-resources --api-group=nothing.example.com
        get --raw /apis/policy
        get --raw /apis/nothing
    """)
    compare_answers(pair, get("/apis/apps/v1", "/apis/events.k8s.io/v1", "/apis/policy/v1"))


def test_what_operations_take(pair: Pair) -> None:
    served = json.loads(pair.on_both("get --raw /openapi/v3")[0].output)["paths"]
    for path in served:
        if path != "apis/apiextensions.k8s.io/v1":  # where the real server names no action
            ours, real = (
                _operations(result.output) for result in pair.on_both(f"get --raw /openapi/v3/{path}")
            )
            assert {address: real[address] for address in ours} == ours


def _operations(document: str) -> dict[tuple[str, str], tuple[str, set[tuple[str, str, str]]]]:
    """Of each operation what it is called, and the name, place and type of its parameters."""
    paths = json.loads(document)["paths"]
    return {
        (path, method): (
            operation.get("x-kubernetes-action"),
            {
                (each["name"], each["in"], each["schema"]["type"])
                for each in (*operation.get("parameters", ()), *item.get("parameters", ()))
                if each["name"] not in NOT_TAKEN
            },
        )
        for path, item in paths.items()
        for method, operation in item.items()
        if method != "parameters"
    }


def test_explanations_of_the_older_kind(pair: Pair) -> None:
    """kubectl reads them from OpenAPI v2, in protobuf. Descriptions are not in it here."""
    descriptions = mask(r"^( {5,}.*|)\n", "")
    pair.compare(
        """
        explain pods --output=plaintext-openapiv2 --recursive
        explain pods.spec.containers.resources --output=plaintext-openapiv2
        explain deployments.spec.strategy --output=plaintext-openapiv2
        explain services.spec.ports.targetPort --output=plaintext-openapiv2
        explain nodes.nothing --output=plaintext-openapiv2
        explain nothing --output=plaintext-openapiv2
        """,
        descriptions,
    )


def test_watching(pair: Pair) -> None:
    pair.prepare("apply -f lists.yaml")
    pair.compare_watch(
        "get pods -w -l app=web",
        """
        label pod c app=other --overwrite
        label pod c app=web --overwrite
        annotate pod a seen=yes
        delete pod a --grace-period=0 --force
        """,
        lines=7,
    )
    pair.compare_watch(
        "get configmaps -n shop -w --watch-only=false -o name --field-selector=metadata.name=settings",
        """
        patch configmap settings -n shop -p '{"data":{"colour":"red"}}'
        patch configmap fixed -n shop -p '{"metadata":{"labels":{"a":"b"}}}'
        patch configmap settings -n shop -p '{"data":{"colour":"green"}}'
        """,
        lines=3,
    )
    pair.compare_watch(
        "get pods -w --output-watch-events --show-labels -A",
        """
        label pod b seen=yes
        delete pod b --grace-period=0 --force
        """,
        lines=8,
    )
    pair.compare_watch(
        'get deployment web -n shop -w -o jsonpath={.spec.replicas}{.metadata.generation}{"\\n"}',
        """
        scale deployment web -n shop --replicas=7
        scale deployment web -n shop --replicas=3
        """,
        lines=3,
    )
