"""Each kind of change in the case it is for; `advice` checks that all that is promised comes true."""

from __future__ import annotations

from typing import Any

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, Status
from tests.insight.advice.small_clusters import HOSTNAME, REQUIRED, ZONE, advice, node, pod, tainted, texts

Document = dict[str, Any]


def operations(suggestion: Document) -> list[tuple[str, str, Any]]:
    (step,) = suggestion["change"]
    return [(each["op"], each["path"], each.get("value")) for each in step["operations"]]


# The pod


def test_a_request_goes_down_as_little_as_it_must() -> None:
    first, *_ = advice(
        pod("p", "3"), node("n1"), pod("a", "2500m", "n1"), node("n2"), pod("b", "1800m", "n2")
    )
    assert first["text"] == "its cpu request were 2200m or less (n2)"
    assert first["nodes"] == ["n2"]
    path = "/spec/containers/0/resources/requests/cpu"
    assert operations(first) == [("replace", path, "2200m")]


def test_the_largest_of_several_containers_gives_way() -> None:
    pending = pod("p")
    pending["spec"]["containers"] = [
        {"name": "small", "image": "x", "resources": {"requests": {"cpu": "1"}}},
        {"name": "large", "image": "x", "resources": {"requests": {"cpu": "4"}}},
    ]
    first, *_ = advice(pending, node("n"))
    assert first["text"] == "the cpu request of container large were 3 or less (n)"


def test_init_containers_sidecars_overhead_and_requests_of_the_pod_count() -> None:
    pending = pod("p", "2", overhead={"cpu": "500m"}, resources={"requests": {"cpu": "6"}})
    pending["spec"]["initContainers"] = [
        {"name": "proxy", "image": "x", "restartPolicy": "Always", "resources": {"requests": {"cpu": "2"}}},
        {"name": "load", "image": "x", "resources": {"requests": {"cpu": "5"}}},
    ]
    first, *_ = advice(pending, node("n"))
    assert first["text"] == "its cpu request were 3500m or less (n)"
    del pending["spec"]["resources"]
    first, *_ = advice(pending, node("n"))
    assert first["text"] == "its cpu requests were 3500m or less in all (n)"


def test_what_no_node_has_is_given_up_only_if_nothing_else_helps() -> None:
    pending = pod("p")
    resources = {"requests": {"cpu": "1", "example.com/gpu": "1"}, "limits": {"example.com/gpu": "1"}}
    pending["spec"]["containers"][0]["resources"] = resources
    (only,) = advice(pending, node("n"))
    assert only["text"] == "it did not ask for example.com/gpu (n)"
    assert {path.split("/")[-2] for _, path, _ in operations(only)} <= {"requests", "resources", "limits"}


def test_a_taint_is_tolerated_or_taken_off() -> None:
    found = advice(pod("p"), tainted("n1", "gpu=true:NoSchedule"), tainted("n2", "gpu=true:NoSchedule"))
    assert [each["text"] for each in found] == [
        "it tolerated gpu=true:NoSchedule (n1, n2)",
        "n1 had no taint gpu=true:NoSchedule",
    ]
    toleration = {"key": "gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
    assert operations(found[0]) == [("add", "/spec/tolerations", [toleration])]


def test_a_toleration_joins_those_there_are() -> None:
    pending = pod("p", tolerations=[{"key": "a", "operator": "Exists"}])
    first, *_ = advice(pending, tainted("n", "b:NoExecute"))
    toleration = {"key": "b", "operator": "Exists", "effect": "NoExecute"}
    assert operations(first) == [("add", "/spec/tolerations/-", toleration)]


def test_a_cordon_goes_with_its_taint() -> None:
    cordoned = tainted("n", "node.kubernetes.io/unschedulable:NoSchedule")
    cordoned["spec"]["unschedulable"] = True
    first, *_ = advice(pod("p"), cordoned)
    assert first["text"] == "n were uncordoned"


def test_a_node_selector_asks_for_less_or_the_node_gets_the_label() -> None:
    pending = pod("p", nodeSelector={"disk": "ssd", "rack": "1"})
    found = texts(pending, node("n", labels={"rack": "1"}))
    assert found == ["its node selector did not ask for disk=ssd (n)", "n had the label disk=ssd"]


def test_node_affinity_lets_another_value_in() -> None:
    line = {"key": "disk", "operator": "In", "values": ["ssd"]}
    term = {"matchExpressions": [line, {"key": "rack", "operator": "Exists"}]}
    pending = pod("p", affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})
    first, second = advice(pending, node("n", labels={"disk": "hdd", "rack": "1"}))
    assert first["text"] == "its node affinity allowed disk=hdd, too (n)"
    assert operations(first)[0][2] == "hdd"
    assert second["text"] == "n had the label disk=ssd"


def test_node_affinity_that_contradicts_itself_becomes_a_preference() -> None:
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in ("n", "m")]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    (only,) = advice(pod("p", affinity={"nodeAffinity": {REQUIRED: required}}), node("n"))
    assert only["text"] == "its required node affinity were only preferred (n)"


def test_a_pod_that_names_a_missing_node() -> None:
    assert texts(pod("p", on="gone"), node("n")) == ["it did not name the node gone (n)"]


def test_a_host_port_is_given_up_or_its_holder_leaves() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}]
    pending, holder = pod("p", priority=5), pod("a", on="n", priority=7)
    for each in (pending, holder):
        each["spec"]["containers"][0]["ports"] = ports
    assert texts(pending, node("n"), holder) == [
        "it did not need host port 8080/TCP (n)",
        "its priority were 8, which preempts default/a on n",
        "default/a (priority 7) left n",
        "there were one more node like n",
    ]


def test_all_that_hold_a_port_have_to_leave() -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    pods = [pod("p"), pod("a", on="n"), pod("b", on="n")]
    for each in pods:
        each["spec"]["containers"][0]["ports"] = ports
    pending, *others = pods
    assert "default/a (priority 0) and default/b (priority 0) left n" in texts(pending, node("n"), *others)


def test_spread_constraints_allow_more_or_only_prefer() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    web = {"app": "web"}
    pending = pod("p", labels=web, topologySpreadConstraints=[constraint])
    objects = [node("n", labels={ZONE: "a"}), tainted("m", "x:NoSchedule", labels={ZONE: "b"})]
    objects += [pod(name, "100m", "n", labels=web) for name in ("a", "b")]
    found = texts(pending, *objects)
    assert f"its spread constraint over {ZONE} allowed a skew of 3 (n)" in found
    assert "default/a (priority 0) and default/b (priority 0) left n" in found
    assert texts(pending, node("n")) == [f"spreading over {ZONE} were only preferred (n)"]


def test_pod_affinity_becomes_a_preference() -> None:
    term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "db"}}}
    found = texts(pod("p", affinity={"podAffinity": {REQUIRED: [term]}}), node("n"))
    assert found == [f"its pod affinity to app=db by {HOSTNAME} were only preferred (n)"]


def test_those_that_keep_the_pod_away_may_be_on_other_nodes() -> None:
    term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "web"}}}
    rival = pod("rival", on="m", affinity={"podAntiAffinity": {REQUIRED: [term]}})
    nodes = [node("n", labels={ZONE: "a"}), tainted("m", "x:NoSchedule", labels={ZONE: "a"})]
    found = texts(pod("p", labels={"app": "web"}), *nodes, rival)
    assert found == ["default/rival (priority 0) left m (n)"]


# Others


def test_the_fewest_and_least_important_leave() -> None:
    small = [pod(name, "1", "n", priority=0) for name in ("a", "b")]
    large = [pod("large", "2", "n", priority=100), pod("other", "2", "m", priority=10)]
    more = pod("more", "2", "m", priority=20)
    found = texts(pod("p", "2", priority=0), node("n"), node("m"), *small, *large, more)
    leaving = [text for text in found if "left" in text]
    assert leaving == ["default/other (priority 10) left m", "default/large (priority 100) left n"]


def test_priority_is_as_low_as_it_may_be() -> None:
    objects = [node("n"), pod("a", "4", "n", priority=1000), node("m"), pod("b", "4", "m", priority=10)]
    found = advice(pod("p", "4", priority=0), *objects)
    (raised,) = [each for each in found if each["then"] == "preempts"]
    assert raised["text"] == "its priority were 11, which preempts default/b on m"
    assert raised["nodes"] == ["m"]
    assert operations(raised) == [("replace", "/spec/priority", 11)]


def test_a_pod_that_may_not_preempt_is_told_so() -> None:
    pending = pod("p", "4", priority=100, preemptionPolicy="Never")
    found = texts(pending, node("n"), pod("a", "4", "n", priority=10))
    assert "its preemption policy were PreemptLowerPriority, which preempts default/a on n" in found


def test_a_pod_that_preempts_as_it_is_needs_no_priority() -> None:
    found = advice(pod("p", "4", priority=100), node("n"), pod("a", "4", "n", priority=10))
    assert all(each["then"] == "fits" for each in found)


def test_pods_that_come_back_at_once_leave_last() -> None:
    daemon = pod("daemon", "3", "n", priority=0)
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    daemon["metadata"]["ownerReferences"] = [owner]
    found = texts(pod("p", "3", priority=0), node("n"), daemon, node("m"), pod("a", "3", "m", priority=50))
    assert next(text for text in found if "left" in text) == "default/a (priority 50) left m"


def test_a_nominated_pod_is_in_the_way() -> None:
    rival = pod("rival", "4", priority=10)
    rival["status"] = {"nominatedNodeName": "n"}
    found = texts(pod("p", "2", priority=0), node("n"), rival)
    assert "default/rival (priority 10) were gone (n)" in found
    assert "its priority were 11 (n)" in found


def test_one_more_node_is_new_and_well() -> None:
    model = tainted("n", "node.kubernetes.io/not-ready:NoSchedule")
    model["spec"] |= {"unschedulable": True, "providerID": "cloud://1"}
    found = advice(pod("p"), model, pod("a", "4", "n"))
    (more,) = [each for each in found if "one more node" in each["text"]]
    assert more["text"] == "there were one more node like n, not cordoned"
    (step,) = more["change"]
    assert step["create"]["metadata"] == {"name": "n-more-1", "labels": {HOSTNAME: "n-more-1"}}
    assert step["create"]["spec"] == {}


def test_a_gate_is_removed_alone_or_with_more() -> None:
    pending = pod("p", schedulingGates=[{"name": "example.com/wait"}])
    assert texts(pending, node("n")) == ["its scheduling gate example.com/wait were removed (n)"]
    first, *_ = texts(pending, tainted("n", "a:NoSchedule"))
    assert first == "its scheduling gate example.com/wait were removed and it tolerated a:NoSchedule (n)"


def test_where_no_single_change_helps_two_do() -> None:
    found = texts(pod("p", "3"), tainted("n", "a:NoSchedule", cpu="2"))
    assert found[0] == "it tolerated a:NoSchedule and its cpu request were 2 or less (n)"


def test_without_nodes_there_is_nothing_to_advise() -> None:
    assert texts(pod("p")) == []


def test_a_plugin_of_ones_own_is_asked_too() -> None:
    """Nobody knows what it minds: pods that leave, a new node and giving up what is rare are tried."""
    found = texts(pod("p"), node("n"), pod("loud", "1", "n", labels={"noisy": "true"}), plugins=[Quiet])
    assert found == [
        "its priority were 1, which preempts default/loud on n",
        "default/loud (priority 0) left n",
        "there were one more node like n",
    ]
    greedy = pod("p")
    greedy["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = "1"
    rich = node("n")
    rich["status"]["allocatable"]["example.com/gpu"] = "4"
    found = texts(greedy, rich, plugins=[NoGpus])
    assert found == ["it did not ask for example.com/gpu (n)"]


class Quiet(FilterPlugin):
    """Rejects nodes with noisy pods."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        noisy = any(other.labels.get("noisy") for other in node.pods)
        return Status.unschedulable("noisy") if noisy else None


class NoGpus(FilterPlugin):
    """Rejects every pod that asks for one."""

    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unresolvable("no gpus for you") if pod.requests["example.com/gpu"] else None


# Where it belongs


def owned(pending: Document, kind: str, name: str) -> Document:
    reference = {"apiVersion": "x/v1", "kind": kind, "name": name, "uid": "u", "controller": True}
    pending["metadata"]["ownerReferences"] = [reference]
    return pending


def test_a_change_of_the_pod_names_the_template_it_belongs_in() -> None:
    objects = [tainted("n", "a:NoSchedule")]
    place = {"namespace": "default", "path": "spec.template"}
    first, second = advice(owned(pod("p"), "ReplicaSet", "web-1"), *objects)
    assert first["where"] == {"kind": "ReplicaSet", "name": "web-1", **place}
    assert "where" not in second
    above = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": True}
    metadata = {"name": "web-1", "namespace": "default", "ownerReferences": [above]}
    known = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata, "spec": {"selector": {}}}
    first, *_ = advice(owned(pod("p"), "ReplicaSet", "web-1"), *objects, known)
    assert first["where"] == {"kind": "Deployment", "name": "web", **place}
    first, *_ = advice(owned(pod("p"), "Job", "once"), *objects)
    assert first["where"] == {"kind": "Job", "name": "once", **place}
