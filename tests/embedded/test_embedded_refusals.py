"""What is refused, and in which words: bad manifests and missing rights, beside the real API server."""

import json

import pytest

from tests.embedded.answers import PARTIAL, TABLE, Question, compare_answers, get, post
from tests.embedded.comparing import Pair, mask


@pytest.mark.parametrize("manifest", ["bad-pods", "bad-workloads", "bad-others"])
def test_bad_manifests(pair: Pair, manifest: str) -> None:
    pair.compare(f"""
        create -f {manifest}.yaml
        create -f {manifest}.yaml --validate=warn --dry-run=server
        create -f {manifest}.yaml --validate=ignore --dry-run=server
        apply --server-side -f {manifest}.yaml --dry-run=server
    """)


def test_rights(pair: Pair) -> None:
    pair.prepare("apply -f roles.yaml")
    robot = "--as=system:serviceaccount:team:robot"
    pair.compare(f"""
        auth whoami --as=jane
        auth whoami --as=jane --as-group=readers --as-uid=1 --as-user-extra=a=b -o yaml
        auth whoami {robot}
        auth whoami -o yaml --as=system:anonymous
        auth can-i get pods -n team --as=jane
        auth can-i get pods --as=jane
        auth can-i delete pods -n team --as=jane
        auth can-i get pods --subresource=log -n team --as=jane
        auth can-i get pods/exec -n team --as=jane
        auth can-i patch pods --subresource=status -n team {robot}
        auth can-i get configmaps/one -n team {robot}
        auth can-i get configmaps/two -n team {robot}
        auth can-i update deployments.apps/web -n team {robot}
        auth can-i '*' '*'
        auth can-i '*' '*' --as=jane
        auth can-i get pods -A --as=vi
        auth can-i get secrets -A --as=vi
        auth can-i create deployments -n team --as=ed
        auth can-i create roles -n team --as=ed
        auth can-i create roles -n team --as=adam
        auth can-i get /metrics --as=jane
        auth can-i get /healthz --as=jane
        auth can-i get nothing --as=jane
        auth can-i get pods -n team --as=joe --as-group=readers -q
        auth can-i --list -n team --as=jane
        auth can-i --list -n team --as=nobody
        auth can-i list nodes --as=vi
        get pods -n team --as=jane
        get pods -n team {robot}
        get pods --as=jane
        get pods -A --as=jane
        get nodes --as=jane
        get secrets -n team --as=jane
        get configmap one -n team --as=jane -o name
        get configmap two -n team --as=jane
        get configmaps -n team --as=jane
        get deployments.apps -n team --as=jane
        get --raw /metrics --as=jane
        get --raw /healthz --as=jane
        get --raw /nothing --as=jane
        create configmap x -n team --as=jane
        create configmap x -n team --as=ed
        delete configmap x -n team --as=jane
        delete configmaps --all -n team --as=jane
        patch configmap x -n team -p '{{"data":{{"a":"b"}}}}' --as=jane
        label configmap x -n team a=b --as=ed
        scale deployment web -n team --replicas=1 --as=vi
        create token robot -n team --as=jane
        create namespace x --as=ed
        delete node x --as=adam
        apply -f too-much.yaml --as=adam
        apply -f too-much.yaml --as=ed
        create -f too-much.yaml --as=adam
        get pods --as=jane --as-group=system:masters
        auth can-i get pods --as=system:kube-scheduler
        auth can-i create pods/binding --as=system:kube-scheduler
        auth can-i list nodes --as=system:kube-scheduler
        auth can-i delete nodes --as=system:kube-scheduler
        get pods --token=nonsense
    """)


def test_bad_requests(pair: Pair) -> None:
    pair.prepare("apply -f roles.yaml")
    pair.compare("""
        get --raw /api/v1/namespaces/team/pods?limit=nonsense
        get --raw /api/v1/namespaces/team/pods?labelSelector=a%20b%20c
        get --raw /api/v1/namespaces/team/pods?fieldSelector=nothing%3Dx
        get --raw /api/v1/namespaces/team/pods?resourceVersion=nonsense
        get --raw /api/v1/pods/one
        get --raw /api/v2/pods
        get --raw /apis/apps/v1/namespaces/team/deployments/a/b/c
    """)
    options = ("abc", "5", "1d", "-1s", "0", "", "1.5h", "2h45m", "%C2%B5", "9999999999h", "1h&timeout=abc")
    places = ("/api/v1/namespaces/team/pods", "/apis/apps/v1", "/nothing", "/healthz")
    compare_answers(pair, get(*(f"{places[0]}?timeout={each}" for each in options)))
    compare_answers(pair, get(*(f"{place}?timeout=abc" for place in places)))
    compare_answers(
        pair,
        get(
            "/api/v1/namespaces/team/pods?timeoutSeconds=",
            "/api/v1/namespaces/team/pods?timeoutSeconds=99999999999999999999",
            "/api/v1/namespaces/team/pods?limit=1.5",
            "/api/v1/namespaces/team/configmaps?watch=1&timeout=abc&timeoutSeconds=1",
            "/api/v1/namespaces/team/pods/nothing/log?timeout=abc",
        ),
    )


def test_there_are_no_tables_of_answers(pair: Pair) -> None:
    # The real server also has protobuf to offer.
    offered = mask(r", application/vnd\.kubernetes\.protobuf", "")
    attributes = {"verb": "get", "resource": "pods"}
    binding = {"metadata": {"name": "one"}, "target": {"name": "nowhere"}}
    questions = {
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews": {
            "spec": {"resourceAttributes": attributes}
        },
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews": {"spec": {"namespace": "team"}},
        "/apis/authentication.k8s.io/v1/tokenreviews": {"spec": {"token": "x"}},
        "/api/v1/namespaces/team/pods/nothing/binding": binding,
        "/api/v1/namespaces/team/pods/nothing/eviction": {"metadata": {"name": "nothing"}},
        "/api/v1/namespaces/team/serviceaccounts/nothing/token": {"spec": {}},
    }
    compare_answers(pair, (post(path, body, TABLE) for path, body in questions.items()), offered)
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    forms = (f"{TABLE},application/json", PARTIAL)
    compare_answers(pair, (post(path, questions[path], form) for form in forms))


REPEATED = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: one, labels: {a: b, a: c}}
data:
  colour: blue
  "1": x
  colour: "red"
  shape:
    round
  shape: square
kind: ConfigMap
data:
  'colour': green
"""


@pytest.mark.parametrize("level", ["Strict", "Warn", "Ignore", ""])
def test_repeated_keys_of_yaml(pair: Pair, level: str) -> None:
    maps = "/api/v1/namespaces/team/configmaps"
    options = f"dryRun=All&fieldManager=me&fieldValidation={level}"
    bodies = (
        REPEATED,
        '{"apiVersion": "v1", "kind": "ConfigMap",\n"metadata": {"name": "one", "name": "one"}}',
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {<<: {a: b}, a: c}\n",
    )
    apply, plain = "application/apply-patch+yaml", "application/yaml"
    for body in bodies:
        asked = (
            Question(f"{maps}/one?{options}", method="PATCH", body=body, content_type=apply),
            Question(f"{maps}?{options}", method="POST", body=body, content_type=plain),
        )
        compare_answers(pair, asked)
    unknown = f'{bodies[1][:-1]}, "nonsense": 1}}'
    compare_answers(pair, [Question(f"{maps}?{options}", method="POST", body=unknown, content_type=plain)])


def test_bad_services(pair: Pair) -> None:
    # Not as a dry run: in one, the real server looks at addresses and ports less closely.
    pair.compare("create -f bad-services.yaml")


def test_quotas(pair: Pair) -> None:
    """What is used is noted by the controller; the API server goes by that, and adds what it lets in."""
    pair.prepare("apply -f quotas.yaml")
    for name, hard in {
        "all": "pods=2 requests.cpu=1 limits.memory=1Gi requests.example.com/gpu=1 persistentvolumeclaims=2 "
        "requests.storage=5Gi fast.storageclass.storage.k8s.io/requests.storage=1Gi services.nodeports=1 "
        "count/deployments.apps=1 configmaps=1",
        "cheap": "pods=1",
        "critical": "pods=0",
    }.items():
        amounts = dict(each.split("=") for each in hard.split())
        status = {"status": {"hard": amounts, "used": dict.fromkeys(amounts, "0")}}
        patch = f"patch quota {name} -n limited --subresource=status --type=merge -p"
        pair.prepare(f"{patch} '{json.dumps(status)}'")
    pair.compare(
        """
        create -f quota-pods.yaml --dry-run=server
        create -f quota-pods.yaml
        create -f quota-others.yaml
        patch service open -n limited -p '{"spec": {"type": "NodePort"}}'
        create configmap one -n limited
        create configmap two -n limited
        create deployment a -n limited --image=x
        create deployment b -n limited --image=x
        get quota -n limited
        describe quota -n limited
    """,
        mask(r"\b(two|three|invalid)-[0-9a-z]{5}\b", r"\1-<random>"),
    )
    partial = '{"status": {"hard": {"secrets": "1", "pods": "9"}, "used": {"pods": "0"}}}'
    pair.prepare(f"patch quota unseen -n limited --subresource=status --type=merge -p '{partial}'")
    pair.compare("create secret generic one -n limited")
