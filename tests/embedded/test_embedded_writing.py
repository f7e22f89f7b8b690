"""What kubectl writes, with `apply`, `create`, `patch`, `delete` and so on, beside the real server."""

import json
import shlex
from collections.abc import Iterator

import pytest

from tests.embedded.comparing import Pair, mask

SHOWN = "-o yaml --show-managed-fields"
# The real server shows what changed in a spec with the names that its fields have in its own code.
CHANGES = mask(r"( previously negative\)|for bound claims)\n(^@@ .*\n(^[ +-].*\n)*)+", r"\1 <changes>\n")


def test_creating_every_kind(pair: Pair) -> None:
    pair.compare(
        """
        create -f kinds.yaml --dry-run=client -o name
        create -f kinds.yaml
        create -f kinds.yaml
        replace -f kinds.yaml --dry-run=server
        delete -f kinds.yaml --wait=false
    """,
        CHANGES,
    )


def test_applying(pair: Pair) -> None:
    pair.compare(
        f"""
        diff -f app.yaml
        apply -f app.yaml --dry-run=server
        apply -f app.yaml
        apply -f app.yaml
        diff -f app.yaml
        get -f app.yaml {SHOWN}
        apply view-last-applied deployment web
        diff -f app-changed.yaml
        apply -f app-changed.yaml
        apply -f app-changed.yaml
        get -f app-changed.yaml {SHOWN}
        scale deployment web --replicas=7
        apply -f app-changed.yaml
        set image deployment/web main=nginx:1.28
        set env deployment/web C=4
        set resources deployment/web -c=main --limits=cpu=200m,memory=512Mi
        apply -f app.yaml
        get deployment web {SHOWN}
        apply set-last-applied -f app.yaml
        apply -f app.yaml --prune -l app=nothing
        delete -f app.yaml
        apply -f app-changed.yaml -o yaml
        delete -f app-changed.yaml --ignore-not-found
        delete -f app-changed.yaml --ignore-not-found
        delete -f app-changed.yaml
    """,
        mask(r"/tmp/(LIVE|MERGED)-\d+/", r"/\1/"),
    )


def test_typos(pair: Pair, app: None) -> None:
    pair.compare(
        """
        apply -f app-typo.yaml
        apply -f app-typo.yaml --validate=warn
        apply -f app-typo.yaml --validate=ignore
        patch deployment web -p '{"spec":{"replica":1,"replica":2,"replicas":3,"replicas":3}}'
        patch deployment web --type=merge -p '{"spec":{"replica":1,"replicas":3,"replicas":3}}'
        patch deployment web --subresource=scale --type=merge -p '{"spec":{"replica":3,"replicas":4}}'
        patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":99999999999}}'
        get deployment web -o yaml
    """,
        # The real server also tells who manages which field of a scale.
        mask(r'(?<=The request is invalid: patch: Invalid value: )"\{.*\}"(?=: )', "<the patched object>"),
    )


def test_applying_on_the_server(pair: Pair) -> None:
    pair.compare(
        f"""
        apply --server-side -f applied.yaml --dry-run=server
        apply --server-side -f applied.yaml
        apply --server-side -f applied.yaml
        get deployment applied {SHOWN}
        apply --server-side -f applied-changed.yaml
        get deployment applied {SHOWN}
        apply --server-side -f applied.yaml --field-manager=other
        apply --server-side -f applied.yaml --field-manager=other --force-conflicts
        get deployment applied {SHOWN}
        apply --server-side -f applied-changed.yaml
        scale deployment applied --replicas=9
        apply --server-side -f applied-changed.yaml
        apply --server-side -f applied-changed.yaml --force-conflicts
        get deployment applied {SHOWN}
        diff --server-side -f applied.yaml --field-manager=third
        delete deployment applied
        apply -f applied.yaml
        apply --server-side -f applied-changed.yaml
        get deployment applied {SHOWN}
        apply -f applied.yaml
        get deployment applied {SHOWN}
        delete deployment applied
        create -f applied.yaml
        apply --server-side -f applied-changed.yaml
        apply --server-side -f applied-changed.yaml --force-conflicts
        get deployment applied {SHOWN}
        delete deployment applied
    """,
        mask(r"/tmp/(LIVE|MERGED)-\d+/", r"/\1/"),
    )


def test_generators(pair: Pair) -> None:
    address = mask(r"\b10\.\d+\.\d+\.\d+\b", "<address>")
    port = mask(r"(?<=nodePort: )3[0-2]\d{3}\b", "<port>")
    # The service `kubernetes` has the port that the API server listens on.
    server = mask(r"(?<=targetPort: )(6443|[1-6]\d{4})$", "<port>")
    pair.compare(
        """
        create namespace made
        create namespace made
        create serviceaccount robot
        create deployment made --image=nginx --replicas=3 --port=80
        create deployment made --image=nginx
        create configmap made --from-literal=a=1 --from-literal=b=2
        create configmap from-file --from-file=web.env
        create configmap from-env --from-env-file=web.env
        create secret generic made --from-literal=password=1234
        create secret docker-registry pull --docker-username=me --docker-password=1
        create role made --verb=get,list --resource=pods,deployments.apps
        create clusterrole made --verb=get --non-resource-url=/metrics
        create clusterrole made-2 --aggregation-rule=a=b
        create rolebinding made --role=made --serviceaccount=default:robot --user=jane --group=readers
        create clusterrolebinding made --clusterrole=made --user=jane
        create quota made --hard=pods=10,cpu=5 --scopes=BestEffort
        create quota made --hard=pods=10
        create pdb made --selector=app=made --min-available=50%
        create priorityclass made --value=100 --description=made --preemption-policy=Never
        create service clusterip made --tcp=80:8080
        create service nodeport made-port --tcp=80
        create service loadbalancer made-balancer --tcp=80
        create service externalname made-name --external-name=example.com
        run made --image=nginx --labels=app=run --env=A=1 --port=80
        run made --image=nginx
        expose deployment made --name=exposed --port=80
        get deploy,cm,secret,sa,role,rolebinding,quota,pdb,svc,pods -o yaml
        get clusterrole made made-2 -o yaml
        get clusterrolebinding made -o yaml
        get priorityclass made -o yaml
        get namespace made -o yaml
    """,
        address,
        port,
        server,
    )
    token = mask(r"^ey[\w-]+\.[\w-]+\.[\w-]+$", "<token>")
    pair.compare(
        """
        create token robot
        create token robot --duration=1h --audience=here
        create token nobody
        create token nobody -n nowhere
        create token robot --duration=1s
        create token robot --bound-object-kind=Pod --bound-object-name=nothing
        create -f generated.yaml
    """,
        token,
        mask(r"(?<=generated-)[0-9a-z]{5}\b", "<random>"),
    )
    pair.prepare("""
        delete pods,deployments,configmaps,quota --all
        delete service made made-port made-balancer made-name exposed
    """)


def test_labels_and_annotations(pair: Pair, workers: None) -> None:
    pair.compare("""
        label pod one tier=front
        label pod one tier=front
        label pod one tier=back
        label pod one tier=back --overwrite
        label pod one tier-
        label pod one tier-
        label pods -l app=w seen=yes
        label pods --all all=yes
        label pod one two many=yes
        label pod one bad=_value_
        label pod one b@d=value
        label pod nothing a=b
        label pod one a=b --resource-version=1
        label node worker zone=b --overwrite
        annotate pod one note=first
        annotate pod one note=second
        annotate pod one note=second --overwrite
        annotate pod one note-
        annotate pod one b@d=value
        annotate node worker note=x
        annotate pods --all note=all
        get pods --show-labels
        get pods -o yaml
    """)


def test_nodes(pair: Pair, workers: None) -> None:
    pair.compare("""
        taint node worker a=b:NoSchedule
        taint node worker a=b:NoSchedule
        taint node worker a=c:NoSchedule
        taint node worker a=c:NoSchedule --overwrite
        taint node worker a=c:NoExecute b:PreferNoSchedule
        taint node worker nothing-
        taint node worker a:NoExecute-
        taint node worker a-
        taint node worker a=b:Nothing
        taint node worker bad_=_x:NoSchedule
        taint node nothing a=b:NoSchedule
        cordon worker
        cordon worker
        get node worker -o yaml
        uncordon worker
        uncordon worker
        cordon nothing
        cordon -l zone=nowhere
        cordon -l zone
        drain worker --dry-run=server --ignore-daemonsets
        get nodes
        describe node worker
        delete node worker
    """)


def patch(target: str, change: object, *flags: str) -> str:
    """A command that patches; by strategic merge unless a flag says otherwise."""
    return shlex.join(["patch", *target.split(), *flags, "-p", json.dumps(change)])


def containers(*items: object) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": list(items)}}}}


@pytest.fixture
def workers(pair: Pair) -> Iterator[None]:
    """A node and pods."""
    pair.prepare("apply -f workers.yaml")
    yield
    pair.prepare("delete -f workers.yaml --ignore-not-found --force --wait=false")


@pytest.fixture
def app(pair: Pair) -> Iterator[None]:
    """A config map, a deployment and a service."""
    pair.prepare("apply -f app.yaml")
    yield
    pair.prepare("delete -f app.yaml --ignore-not-found")


def test_strategic_merge_patches(pair: Pair, workers: None, app: None) -> None:
    pod, web = "pod two", "deployment web"
    labels = {"metadata": {"labels": {"a": "b"}}}
    pair.compare_all(
        [
            patch(pod, labels),
            patch(pod, labels),
            patch(pod, {"spec": {"containers": [{"name": "main", "image": "nginx:2"}]}}),
            patch(pod, {"spec": {"containers": [{"name": "other", "image": "nginx:2"}]}}),
            patch(pod, {"spec": {"activeDeadlineSeconds": 30}}),
            patch(pod, {"spec": {"activeDeadlineSeconds": 40}}),
            patch(pod, {"spec": {"nodeName": "worker"}}),
            patch(pod, {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}}),
            patch(pod, {"spec": {"containers": "none"}}),
            patch(pod, {"spec": {"terminationGracePeriodSeconds": "long"}}),
            patch(pod, {"spec": {"nodeName": 5}}),
            patch(pod, {"spec": 5}),
            patch(pod, {"spec": {"unknown": 1}}),
            patch(pod, {"metadata": {"name": "other"}}),
            patch(pod, {"metadata": {"uid": "other"}}),
            patch(pod, {"metadata": {"resourceVersion": "1"}}),
            patch(pod, []),
            "patch pod two -p nonsense",
            patch("pod nothing", {}),
            patch(web, containers({"name": "more", "image": "busybox"})),
            patch(web, containers({"name": "more", "$patch": "delete"})),
            patch(web, containers({"name": "main", "env": [{"name": "A", "$patch": "delete"}]})),
            patch(web, {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
            patch(web, containers({"$patch": "replace"}, {"name": "only", "image": "nginx"})),
            patch(web, containers({"image": "nameless"})),
            patch(web, containers(5)),
            patch(web, {"spec": {"$patch": "nothing"}}),
            patch(web, {"spec": {"selector": {"matchLabels": {"app": "other"}}}}),
            patch(web, {"spec": {"replicas": -1}}),
            patch(web, {"spec": {"replicas": "many"}}),
            patch(web, {"spec": {"replicas": 1.5}}),
            'patch -f app.yaml -p \'{"metadata":{"labels":{"patched":"yes"}}}\'',
            patch("configmap settings", {"data": {"colour": None}}),
            patch("configmap settings", {"immutable": True}),
            patch("configmap settings", {"data": {"colour": "green"}}),
            patch("configmap settings", {"data": {"a b": "green"}}),
            patch("service web", {"spec": {"clusterIP": "10.96.0.99"}}),
            patch("service web", {"spec": {"ports": [{"port": 81, "name": "more"}]}}),
            patch("service web", {"spec": {"type": "ExternalName"}}),
            f"get deployment/web pod/two service/web configmap/settings {SHOWN}",
        ],
        CHANGES,
    )


def test_merge_and_json_patches(pair: Pair, app: None) -> None:
    web = "deployment web"
    label = "/metadata/labels"
    last = {"name": "last", "image": "busybox"}

    def operations(*each: object) -> str:
        return patch(web, list(each), "--type=json")

    pair.compare_all(
        [
            patch(web, containers({"name": "merged", "image": "nginx"}), "--type=merge"),
            patch(web, {"metadata": {"annotations": {"a": "1", "b": None}}}, "--type=merge"),
            patch(web, {"metadata": {"annotations": {"a": 1}}}, "--type=merge"),
            patch(web, {"spec": {"replicas": "many"}}, "--type=merge"),
            patch(web, {"spec": None}, "--type=merge"),
            patch(web, [], "--type=merge"),
            operations({"op": "replace", "path": "/spec/replicas", "value": 4}),
            operations(
                {"op": "test", "path": "/spec/replicas", "value": 4},
                {"op": "add", "path": f"{label}/x", "value": "y"},
            ),
            operations({"op": "test", "path": "/spec/replicas", "value": 5}),
            operations({"op": "remove", "path": f"{label}/nothing"}),
            operations({"op": "replace", "path": f"{label}/nothing", "value": "1"}),
            operations({"op": "add", "path": "/spec/template/spec/containers/-", "value": last}),
            operations({"op": "add", "path": "/spec/template/spec/containers/9", "value": last}),
            operations({"op": "move", "from": f"{label}/x", "path": f"{label}/z"}),
            operations({"op": "copy", "from": f"{label}/z", "path": f"{label}/c"}),
            operations({"op": "nothing", "path": "/spec"}),
            operations({"op": "remove", "path": "/spec/template"}),
            patch(web, {"op": "remove"}, "--type=json"),
            f"get deployment web {SHOWN}",
        ],
        # The fields of a whole object are told in another order.
        mask(r'(?<=The request is invalid: patch: Invalid value: )"\{.*\}"(?=: )', "<the patched object>"),
    )


def test_patches_of_parts(pair: Pair, workers: None, app: None) -> None:
    counts = {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}
    ready = {"type": "Ready", "status": "True", "reason": "Tested"}
    node = {"conditions": [ready], "capacity": {"cpu": "4", "pods": "110"}}
    pair.compare_all(
        [
            patch("deployment web", {"spec": {"replicas": 3}}, "--subresource=scale", "--type=merge"),
            patch("deployment web", {"spec": {"replicas": -3}}, "--subresource=scale", "--type=merge"),
            patch("deployment web", {"status": counts}, "--subresource=status", "--type=merge"),
            patch("deployment web", {"status": {"replicas": -1}}, "--subresource=status"),
            patch("node worker", {"status": node}, "--subresource=status"),
            patch("pod two", {"status": {"phase": "Running", "podIP": "10.1.2.3"}}, "--subresource=status"),
            patch("pod two", {"status": {"podIP": "nonsense"}}, "--subresource=status"),
            patch("pod two", {}, "--subresource=nothing"),
            "get deployments,pods,nodes",
            f"get deployment/web pod/two {SHOWN}",
            "describe node worker",
        ]
    )


def test_deleting(pair: Pair, workers: None, app: None) -> None:
    pair.compare("""
        delete pod nothing
        delete pod nothing --ignore-not-found
        delete pod one --dry-run=server
        delete pod one --wait=false
        get pod one
        get pod one -o yaml
        delete pod one --wait=false --grace-period=1
        delete pod one --wait=false --grace-period=100
        get pod one -o jsonpath={.metadata.deletionGracePeriodSeconds}
        delete pod one --now --wait=false
        delete pod one --force
        get pod one
        create -f held.yaml
        delete pod held --wait=false
        get pod held -o yaml
        patch pod held --type=merge -p '{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}'
        patch pod held --type=merge -p '{"metadata":{"finalizers":null}}'
        get pod held
        delete pods -l app=w --field-selector=spec.nodeName=
        delete deployment web --cascade=orphan --wait=false
        get deployment web -o jsonpath={.metadata.finalizers}
        patch deployment web --type=merge -p '{"metadata":{"finalizers":null}}'
        delete service,configmap -l app=web
        delete service web --cascade=foreground --wait=false
        get service web -o yaml
        patch service web --type=merge -p '{"metadata":{"finalizers":null}}'
        get all
        delete pods --all
        delete pods --all
        delete namespace kube-system
        delete priorityclass system-node-critical
        delete namespace default
        delete nothing one
        delete --raw /api/v1/namespaces/default/pods/nothing
        delete configmap --all
    """)


def test_generations_of_pods(pair: Pair) -> None:
    status = ("--subresource=status", "--type=merge")
    ready = {"type": "Ready", "lastProbeTime": None, "lastTransitionTime": None}
    observed = {
        "observedGeneration": 3,
        "conditions": [{**ready, "status": "False", "observedGeneration": 2}],
    }

    def see(name: str) -> str:
        fields = ("{.metadata.generation}", "{.metadata.deletionGracePeriodSeconds}", "{.status}")
        return f"get pod {name} -o jsonpath={' '.join(fields)!r}"

    def limit(name: str, seconds: int) -> str:
        return patch(f"pod {name}", {"spec": {"activeDeadlineSeconds": seconds}}, "--type=merge")

    pair.compare_all(
        [
            "apply -f generations.yaml",
            see("gated"),
            see("bound"),
            "label pod bound a=b",
            "set image pod/bound main=nginx:2",
            limit("bound", 100),
            limit("bound", 200),
            limit("bound", 50),
            see("bound"),
            patch("pod gated", {"spec": {"nodeSelector": {"a": "b"}}}, "--type=merge"),
            patch("pod gated", {"spec": {"schedulingGates": None}}, "--type=merge"),
            see("gated"),
            patch("pod bound", {"status": observed}, *status),
            patch("pod bound", {"status": {"observedGeneration": None}}, *status),
            patch("pod bound", {"status": {"conditions": [{**ready, "status": "True"}]}}, *status),
            see("bound"),
            "delete pod bound --wait=false",
            see("bound"),
            "delete pod bound --wait=false --grace-period=80",
            see("bound"),
            "delete pod bound --wait=false --grace-period=40",
            limit("bound", 20),
            see("bound"),
            "create --raw /api/v1/namespaces/default/pods/bound/eviction -f eviction.json",
            see("bound"),
            "delete pod bound --wait=false --grace-period=0 --force",
            see("bound"),
            patch("pod bound", {"metadata": {"finalizers": None}}, "--type=merge"),
            "get pod bound",
            "delete pod gated",
        ]
    )


def test_scaling_and_replacing(pair: Pair, app: None) -> None:
    pair.compare("""
        scale deployment web --replicas=5
        scale deployment web --replicas=5
        scale deployment web --replicas=1 --current-replicas=2
        scale deployment web --replicas=1 --current-replicas=5
        scale deployment nothing --replicas=1
        scale deployment web --replicas=-1
        scale configmap settings --replicas=1
        scale --replicas=2 -f app.yaml
        get deployment web -o yaml --show-managed-fields
        autoscale deployment nothing --max=3
        replace -f replaced.yaml
        create -f replaced.yaml
        patch configmap replaced -p '{"data":{"a":"1"}}'
        replace -f replaced.yaml
        get configmap replaced -o yaml --show-managed-fields
        replace --force -f replaced.yaml
        replace -f app.yaml
        replace --subresource=status -f app.yaml
        rollout pause deployment/web
        rollout pause deployment/web
        rollout resume deployment/web
        rollout restart deployment/nothing
        rollout history deployment/web
        delete -f app.yaml
    """)


def test_waiting(pair: Pair, workers: None, app: None) -> None:
    conditions = {"status": {"conditions": [{"type": "Available", "status": "True"}]}}
    pair.prepare(patch("deployment web", conditions, "--subresource=status", "--type=merge"))
    # A watch that the client itself ends leaves a line in its log over HTTP/1.1, and none over HTTP/2.
    ended = mask(r"^[EI]\d{4} \S+ +\d+ reflector\.go:\d+\] .*\n", "")
    pair.compare(
        """
        wait --for=condition=Available deployment/web
        wait --for=condition=Progressing deployment/web --timeout=0s
        wait --for=jsonpath={.spec.replicas}=2 deployment/web
        wait --for=jsonpath={.spec.replicas}=3 deployment/web --timeout=0s
        wait --for=jsonpath={.spec.paused} deployment/web --timeout=0s
        wait --for=create configmap/settings
        wait --for=delete pod/nothing
        wait --for=delete pod/two --timeout=1500ms
        wait --for=condition=Ready pod --all --timeout=0s
        wait --for=condition=Ready pod/nothing --timeout=0s
    """,
        ended,
    )
