"""What kubectl writes: `apply`, `create`, `patch`, `label`, `delete` and the like, beside the real API server."""

from tests.embedded.comparing import Pair, mask

SHOWN = "-o yaml --show-managed-fields"


def test_creating_every_kind(pair: Pair) -> None:
    pair.compare("""
        create -f kinds.yaml --dry-run=client -o name
        create -f kinds.yaml
        create -f kinds.yaml
        apply -f kinds.yaml --dry-run=server
        replace -f kinds.yaml --dry-run=server
        delete -f kinds.yaml --wait=false
    """)


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
    server = mask(
        r"(?<=targetPort: )(6443|[34]\d{4}|5\d{4}|6\d{4})$", "<port>"
    )  # that of the service `kubernetes`
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
        create secret docker-registry pull --docker-username=me --docker-password=1 --docker-email=me@example.com
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
    pair.prepare("delete pods,services,deployments,configmaps,quota --all")
    token = mask(r"^ey[\w-]+\.[\w-]+\.[\w-]+$", "<token>")
    pair.compare(
        """
        create token robot
        create token robot --duration=1h --audience=here
        create token nobody
        create token robot --duration=1s
        create token robot --bound-object-kind=Pod --bound-object-name=nothing
        create -f generated.yaml
    """,
        token,
        mask(r"(?<=generated-)[0-9a-z]{5}\b", "<random>"),
    )


def test_labels_and_annotations(pair: Pair) -> None:
    pair.prepare("apply -f workers.yaml")
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


def test_nodes(pair: Pair) -> None:
    pair.prepare("apply -f workers.yaml")
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


def test_patches(pair: Pair) -> None:
    pair.prepare("""
        apply -f workers.yaml
        apply -f app.yaml
    """)
    pair.compare("""
        patch pod two -p '{"metadata":{"labels":{"a":"b"}}}'
        patch pod two -p '{"metadata":{"labels":{"a":"b"}}}'
        patch pod two -p '{"spec":{"containers":[{"name":"main","image":"nginx:2"}]}}'
        patch pod two -p '{"spec":{"containers":[{"name":"other","image":"nginx:2"}]}}'
        patch pod two -p '{"spec":{"activeDeadlineSeconds":30}}'
        patch pod two -p '{"spec":{"activeDeadlineSeconds":40}}'
        patch pod two -p '{"spec":{"nodeName":"worker"}}'
        patch pod two -p '{"spec":{"tolerations":[{"key":"a","operator":"Exists"}]}}'
        patch pod two -p '{"spec":{"containers":"none"}}'
        patch pod two -p '{"spec":{"unknown":1}}'
        patch pod two -p '{"metadata":{"name":"other"}}'
        patch pod two -p '{"metadata":{"uid":"other"}}'
        patch pod two -p 'nonsense'
        patch pod two -p '[]'
        patch pod nothing -p '{}'
        patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"more","image":"busybox"}]}}}}'
        patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"more","$patch":"delete"}]}}}}'
        patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"name":"main","env":[{"name":"A","$patch":"delete"}]}]}}}}'
        patch deployment web -p '{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}'
        patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"$patch":"replace"},{"name":"only","image":"nginx"}]}}}}'
        patch deployment web -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'
        patch deployment web -p '{"spec":{"replicas":-1}}'
        patch deployment web -p '{"spec":{"replicas":"many"}}'
        patch deployment web -p '{"spec":{"template":{"spec":{"containers":[{"image":"nameless"}]}}}}'
        get deployment web -o yaml --show-managed-fields
        patch deployment web --type=merge -p '{"spec":{"template":{"spec":{"containers":[{"name":"merged","image":"nginx"}]}}}}'
        patch deployment web --type=merge -p '{"metadata":{"annotations":{"a":"1","b":null}}}'
        patch deployment web --type=merge -p '{"metadata":{"annotations":{"a":1}}}'
        patch deployment web --type=merge -p '{"spec":null}'
        patch deployment web --type=merge -p '[]'
        patch deployment web --type=json -p '[{"op":"replace","path":"/spec/replicas","value":4}]'
        patch deployment web --type=json -p '[{"op":"test","path":"/spec/replicas","value":4},{"op":"add","path":"/metadata/labels/x","value":"y"}]'
        patch deployment web --type=json -p '[{"op":"test","path":"/spec/replicas","value":5}]'
        patch deployment web --type=json -p '[{"op":"remove","path":"/metadata/labels/nothing"}]'
        patch deployment web --type=json -p '[{"op":"replace","path":"/metadata/labels/nothing","value":"1"}]'
        patch deployment web --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"last","image":"x"}}]'
        patch deployment web --type=json -p '[{"op":"add","path":"/spec/template/spec/containers/9","value":{"name":"last","image":"x"}}]'
        patch deployment web --type=json -p '[{"op":"move","from":"/metadata/labels/x","path":"/metadata/labels/z"}]'
        patch deployment web --type=json -p '[{"op":"copy","from":"/metadata/labels/z","path":"/metadata/labels/c"}]'
        patch deployment web --type=json -p '[{"op":"nothing","path":"/spec"}]'
        patch deployment web --type=json -p '{"op":"remove"}'
        patch deployment web --type=json -p '[{"op":"remove","path":"/spec/template"}]'
        patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":3}}'
        patch deployment web --subresource=status --type=merge -p '{"status":{"replicas":3,"readyReplicas":2,"updatedReplicas":3,"availableReplicas":1}}'
        patch node worker --subresource=status -p '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Tested"}],"capacity":{"cpu":"4","pods":"110"}}}'
        patch pod two --subresource=status -p '{"status":{"phase":"Running","podIP":"10.1.2.3"}}'
        patch pod two --subresource=nothing -p '{}'
        patch service web -p '{"spec":{"clusterIP":"10.96.0.99"}}'
        patch service web -p '{"spec":{"ports":[{"port":81,"name":"more"}]}}'
        patch service web -p '{"spec":{"type":"ExternalName"}}'
        patch configmap settings -p '{"data":{"colour":null}}'
        patch configmap settings -p '{"immutable":true}'
        patch configmap settings -p '{"data":{"colour":"green"}}'
        patch configmap settings -p '{"data":{"a b":"green"}}'
        patch -f app.yaml -p '{"metadata":{"labels":{"patched":"yes"}}}'
        get deployment web -o yaml --show-managed-fields
        get deployment,pods,nodes
        get pod two -o yaml --show-managed-fields
        get service web -o yaml
        describe node worker
        delete -f app.yaml
    """)


def test_deleting(pair: Pair) -> None:
    pair.prepare("""
        apply -f workers.yaml
        apply -f app.yaml
    """)
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
        delete pod three --wait=false
        get pod three -o yaml
        patch pod three --type=merge -p '{"metadata":{"finalizers":["example.com/hold","example.com/more"]}}'
        patch pod three --type=merge -p '{"metadata":{"finalizers":null}}'
        get pod three
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
        delete namespace default
        delete nothing one
        delete --raw /api/v1/namespaces/default/pods/nothing
        delete configmap --all
    """)


def test_scaling_and_replacing(pair: Pair) -> None:
    pair.prepare("apply -f app.yaml")
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


def test_waiting(pair: Pair) -> None:
    pair.prepare("""
        apply -f workers.yaml
        apply -f app.yaml
        patch deployment web --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
    """)
    pair.compare("""
        wait --for=condition=Available deployment/web
        wait --for=condition=Progressing deployment/web --timeout=0s
        wait --for=jsonpath={.spec.replicas}=2 deployment/web
        wait --for=jsonpath={.spec.replicas}=3 deployment/web --timeout=0s
        wait --for=jsonpath={.spec.paused} deployment/web --timeout=0s
        wait --for=create configmap/settings
        wait --for=delete pod/nothing
        wait --for=delete pod/two --timeout=1s
        wait --for=condition=Ready pod --all --timeout=0s
        wait --for=condition=Ready pod/nothing --timeout=1s
        delete -f app.yaml
    """)
