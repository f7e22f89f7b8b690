"""What a new plugin does at each extension point, and how that is tested.

`{PREFIX}` begins labels and annotations; a plugin with args takes it from there. PLUGIN stands for the class.
"""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

import moorage
from moorage.framework.extension_points import BASES, methods_to_write


class Snippet(NamedTuple):
    imports: tuple[str, ...]
    """Names of `moorage` that the method uses, beside its base class."""
    method: str
    test: str
    test_imports: tuple[str, ...] = ()
    events: tuple[tuple[str, str], ...] = ()
    """Resource and actions that may help pods which the method rejected."""


_EXAMPLES = {
    "preEnqueue": Snippet(
        ("Pod", "Status"),
        '''
    def pre_enqueue(self, pod: Pod) -> Status | None:
        """Keeps pods out of the queue while they are on hold."""
        if pod.labels.get(f"{PREFIX}/hold") == "true":
            return Status.unresolvable("pod is on hold")
        return None
''',
        """
def test_a_pod_on_hold_is_not_queued() -> None:
    held = make_pod(labels={f"{PREFIX}/hold": "true"})
    assert run(PLUGIN, held, [make_node()]).message == "pod is on hold"
    assert run(PLUGIN, make_pod(), [make_node()]).node == "node"
""",
        ("make_node", "run"),
        (("Pod", "Action.UPDATE_POD_LABEL"),),
    ),
    "queueSort": Snippet(
        ("QueuedPod",),
        '''
    def sort_key(self, queued: QueuedPod) -> tuple[bool, int, float]:
        """Takes marked pods first, then those of higher priority, then those that wait longest."""
        is_marked = queued.pod.labels.get(f"{PREFIX}/first") == "true"
        return not is_marked, -queued.pod.priority, queued.timestamp
''',
        """
def test_marked_pods_come_first() -> None:
    marked = QueuedPod(make_pod("marked", labels={f"{PREFIX}/first": "true"}), timestamp=2.0)
    others = [QueuedPod(make_pod("old"), 1.0), QueuedPod(make_pod("important", priority=9), 3.0)]
    ordered = sorted([*others, marked], key=made().sort_key)
    assert [queued.pod.name for queued in ordered] == ["marked", "important", "old"]
""",
        ("QueuedPod",),
    ),
    "preFilter": Snippet(
        ("CycleState", "Pod"),
        '''
    def pre_filter(self, cycle: CycleState, pod: Pod) -> set[str] | None:
        """Narrows the search to the nodes that a pod names; None leaves all of them."""
        wanted = pod.annotations.get(f"{PREFIX}/nodes")
        return None if wanted is None else set(wanted.split(","))
''',
        """
def test_a_pod_that_names_nodes_gets_one_of_them() -> None:
    nodes = [make_node("a"), make_node("b")]
    picky = make_pod(annotations={f"{PREFIX}/nodes": "b,c"})
    assert run(PLUGIN, picky, nodes).feasible == ["b"]
    assert run(PLUGIN, make_pod(), nodes).feasible == ["a", "b"]
""",
        ("make_node", "run"),
        (("Node", "Action.ADD"),),
    ),
    "filter": Snippet(
        ("CycleState", "NodeInfo", "Pod", "Status"),
        '''
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        """Refuses nodes that are to be avoided."""
        if node.labels.get(f"{PREFIX}/avoid") == "true":
            return Status.unschedulable("node is to be avoided")
        return None
''',
        """
def test_a_node_to_be_avoided_is_refused() -> None:
    avoided = make_node("avoided", labels={f"{PREFIX}/avoid": "true"})
    result = run(PLUGIN, make_pod(), [avoided, make_node("other")])
    assert result.node == "other"
    assert result.statuses["avoided"].message == "node is to be avoided"
""",
        ("make_node", "run"),
        (("Node", "Action.ADD | Action.UPDATE_NODE_LABEL"),),
    ),
    "postFilter": Snippet(
        ("CycleState", "NodeStatuses", "Pod", "Status"),
        '''
    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Status:
        """Called when no node fits; a Nomination would say where the pod will."""
        reasons = ", ".join(statuses.reasons())
        return Status.unschedulable(f"no node fits ({reasons}), see {PREFIX}")
''',
        """
def test_a_pod_that_fits_nowhere_is_told_where_to_ask() -> None:
    handle = FakeHandle([make_node()])
    statuses = NodeStatuses(handle.state.table)
    statuses.set_row(0, Status.unschedulable("full"))
    said = made(handle).post_filter(CycleState(), make_pod(), statuses)
    assert said == Status.unschedulable(f"no node fits (full), see {PREFIX}")
""",
        ("CycleState", "NodeStatuses", "Status", "make_node"),
    ),
    "preScore": Snippet(
        ("CycleState", "Nodes", "Pod", "Status"),
        '''
    def pre_score(self, cycle: CycleState, pod: Pod, nodes: Nodes) -> Status | None:
        """Looks at all nodes that fit once, before each of them is scored."""
        if pod.labels.get(f"{PREFIX}/score") == "off":
            return Status.skip()
        cycle.write(self.name, int(nodes.pod_count.max()))
        return None
''',
        """
def test_what_all_nodes_have_in_common_is_found_once() -> None:
    handle = FakeHandle([make_node("a"), make_node("b"), make_pod("p", node="b")])
    cycle = CycleState()
    assert made(handle).pre_score(cycle, make_pod(), handle.nodes) is None
    assert cycle.read("PLUGIN") == 1
    off = make_pod(labels={f"{PREFIX}/score": "off"})
    assert made(handle).pre_score(cycle, off, handle.nodes) == Status.skip()
""",
        ("CycleState", "Status", "make_node"),
    ),
    "score": Snippet(
        ("CycleState", "NodeInfo", "Pod"),
        '''
    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        """Prefers marked nodes, and among the others those with few pods; 0 to 100."""
        if node.labels.get(f"{PREFIX}/prefer") == "true":
            return 100
        return max(0, 50 - len(node.pods))
''',
        """
def test_marked_and_empty_nodes_are_preferred() -> None:
    marked = make_node("marked", labels={f"{PREFIX}/prefer": "true"})
    nodes = [marked, make_node("a"), make_node("b")]
    result = run(PLUGIN, make_pod(), nodes, pods=[make_pod("p", node="a")])
    scores = {node: result.scores[node]["PLUGIN"] for node in result.scores}
    assert scores["marked"] == 100 > scores["b"] > scores["a"]
""",
        ("make_node", "run"),
    ),
    "reserve": Snippet(
        ("CycleState", "Pod", "Status"),
        '''
    def reserve(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Gives a key to one pod at a time; it is free again when that pod is gone."""
        key = pod.annotations.get(f"{PREFIX}/key")
        if key is not None and self._holders.setdefault(key, pod.uid) != pod.uid:
            return Status.unschedulable(f"key {key} is taken")
        return None

    def unreserve(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        """Called when the attempt fails later."""
        self._release(pod)

    def _remember(self, pod: Pod) -> None:
        key = pod.annotations.get(f"{PREFIX}/key")
        if key is not None and pod.spec.node_name:
            self._holders.setdefault(key, pod.uid)

    def _release(self, pod: Pod) -> None:
        self._holders = {key: uid for key, uid in self._holders.items() if uid != pod.uid}
''',
        """
def test_a_key_is_given_to_one_pod_at_a_time() -> None:
    key = {f"{PREFIX}/key": "gold"}
    running, second = make_pod("first", node="node", annotations=key), make_pod("second", annotations=key)
    handle = FakeHandle([make_node()])
    plugin, cycle = made(handle), CycleState()
    handle.add(running)
    assert plugin.reserve(cycle, second, "node") == Status.unschedulable("key gold is taken")
    handle.remove(running)
    assert plugin.reserve(cycle, second, "node") is None
    plugin.unreserve(cycle, second, "node")
    assert plugin.reserve(cycle, make_pod("third", annotations=key), "node") is None
""",
        ("CycleState", "Status", "make_node"),
        (("Pod", "Action.DELETE"),),
    ),
    "permit": Snippet(
        ("CycleState", "Pod", "Wait"),
        '''
    def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Wait | None:
        """Binds pairs of pods together: the first waits for the second, at most a minute."""
        pair = pod.labels.get(f"{PREFIX}/pair")
        if pair is None:
            return None
        for waiting in self.handle.waiting_pods:
            if waiting.pod.labels.get(f"{PREFIX}/pair") == pair:
                waiting.allow(self.name)
                return None
        return Wait(60)
''',
        """
def test_the_first_of_a_pair_waits() -> None:
    first = make_pod(labels={f"{PREFIX}/pair": "gold"})
    answer = made().permit(CycleState(), first, "node")
    assert answer is not None and answer.timeout == 60
    assert made().permit(CycleState(), make_pod(), "node") is None
""",
        ("CycleState",),
        (("Pod", "Action.ADD | Action.DELETE"),),
    ),
    "preBind": Snippet(
        ("CycleState", "Pod", "Status"),
        '''
    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Says whether `pre_bind` will have work."""
        return None if f"{PREFIX}/prepare" in pod.annotations else Status.skip()

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """The place for work that must be done before the pod starts; it may take its time."""
        self.handle.log.info("preparing %s for %s", node_name, pod.key)
        return None
''',
        """
def test_only_pods_that_ask_for_it_are_prepared() -> None:
    pod = make_pod(annotations={f"{PREFIX}/prepare": ""})
    assert made().pre_bind_pre_flight(CycleState(), pod, "node") is None
    assert asyncio.run(made().pre_bind(CycleState(), pod, "node")) is None
    assert made().pre_bind_pre_flight(CycleState(), make_pod(), "node") == Status.skip()
""",
        ("CycleState", "Status"),
    ),
    "bind": Snippet(
        ("CycleState", "Pod", "Status"),
        '''
    async def bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Binds marked pods itself and leaves the others to the next plugin."""
        if pod.labels.get(f"{PREFIX}/bind") != "own":
            return Status.skip()
        self.handle.log.info("binding %s to %s", pod.key, node_name)
        bound = self.handle.client.bind(pod, node_name)
        if bound is not None:
            await bound
        return None
''',
        """
def test_other_pods_are_left_to_the_default_binder() -> None:
    assert asyncio.run(made().bind(CycleState(), make_pod(), "node")) == Status.skip()
""",
        ("CycleState", "Status"),
    ),
    "postBind": Snippet(
        ("CycleState", "Pod"),
        '''
    def post_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> None:
        """Tells of pods that are watched."""
        if pod.labels.get(f"{PREFIX}/watched") == "true":
            note = f"{pod.name} runs on {node_name}"
            self.handle.recorder.event(pod, None, "Normal", "Placed", "Binding", note)
''',
        """
def test_the_placement_of_a_watched_pod_is_told() -> None:
    handle = FakeHandle()
    watched = make_pod("p", labels={f"{PREFIX}/watched": "true"})
    made(handle).post_bind(CycleState(), watched, "node")
    made(handle).post_bind(CycleState(), make_pod("other"), "node")
    assert [event.note for event in handle.events] == ["p runs on node"]
""",
        ("CycleState",),
    ),
}


def _to_be_written(point: str) -> Snippet:
    """For a point without an example: its methods as the base class declares them."""
    base = BASES[point]
    methods = methods_to_write(base)
    declared = "\n" + "\n".join(inspect.getsource(getattr(base, method)) for method in methods)
    test = f"""
def test_{methods[0]}_is_called() -> None:
    assert isinstance(made(), {base.__name__})
"""
    used = {*re.findall(r"\w+", declared)} & {*moorage.__all__}
    return Snippet(tuple(used), declared, test, (base.__name__,))


SNIPPETS = {point: _EXAMPLES.get(point) or _to_be_written(point) for point in BASES}
"""For each extension point."""

SCORE_AFTER_PRE_SCORE = """        most: int = cycle.read(self.name)
        return 50 - 50 * len(node.pods) // max(most, 1)
"""
RULE_IN_FILTER = """        if any(node.name in rule.spec.avoid for rule in self.rules.list()):
            return Status.unschedulable("a rule keeps pods off the node")
"""
RULE_IN_PRE_FILTER = """        avoided = {name for rule in self.rules.list() for name in rule.spec.avoid}
        names = set(self.handle.nodes.names) if wanted is None else set(wanted.split(","))
        return names - avoided
"""
RULE_IN_SCORE = """        if any(node.name in rule.spec.avoid for rule in self.rules.list()):
            return 0
"""
RULE_ALONE = '''
    def is_avoided(self, node_name: str) -> bool:
        """Whether a rule keeps pods off a node."""
        return any(node_name in rule.spec.avoid for rule in self.rules.list())
'''
