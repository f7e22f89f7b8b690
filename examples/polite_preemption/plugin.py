from moorage import (
    Code,
    CycleState,
    NodeInfo,
    NodeStatuses,
    Nomination,
    Permission,
    Pod,
    PostFilterPlugin,
    PreEnqueuePlugin,
    Status,
)

PREEMPTIBLE = "preemptible"
"""The label with which a pod says, by the value `true`, that it may be asked to go."""


class PolitePreemption(PreEnqueuePlugin, PostFilterPlugin):
    """Makes room only with pods that offered to go: no more than needed, the youngest first."""

    permissions = (Permission("delete", "", "pods"),)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        if self.handle.is_evicting_for(pod):
            return Status.unresolvable("pods are being asked to go for this one")
        return None

    def post_filter(self, cycle: CycleState, pod: Pod, statuses: NodeStatuses) -> Nomination | Status:
        if offers_to_go(pod) or pod.spec.preemption_policy == "Never":
            return Status.unschedulable("it asks nobody to go")
        if self.waits_for_room(pod, statuses):
            return Status.unschedulable("the pods that go for it have not ended yet")
        found: list[tuple[NodeInfo, list[Pod]]] = []
        for name in statuses.nodes_with(Code.UNSCHEDULABLE):
            node = self.handle.node(name)
            victims = self.victims_on(node, cycle, pod) if node else []
            if node and victims:
                found.append((node, victims))
        if not found:
            return Status.unschedulable("no pods that offer to go would make room")
        # The sort is stable: among those with the fewest, the node where the youngest go.
        found.sort(key=lambda choice: started(choice[1][-1]), reverse=True)
        node, victims = min(found, key=lambda choice: len(choice[1]))
        self.handle.evict(victims, by=pod, message=f"{pod.key} needs the room")
        return Nomination(node.name)

    def waits_for_room(self, pod: Pod, statuses: NodeStatuses) -> bool:
        """Whether pods that were asked to go for this one take their time."""
        nominated = self.handle.nominator.node_of(pod.uid)
        node = self.handle.node(nominated)
        if node is None or statuses.get(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return False
        return any(other.deleting and offers_to_go(other) for other in node.pods)

    def victims_on(self, node: NodeInfo, cycle: CycleState, pod: Pod) -> list[Pod]:
        """Who would have to go for the pod to fit, the youngest first; nobody if it would not help."""
        may_go = [
            other
            for other in node.pods
            if offers_to_go(other) and not other.deleting and other.priority <= pod.priority
        ]
        may_go.sort(key=started, reverse=True)
        with self.handle.what_if(cycle, pod, node) as tried:
            victims: list[Pod] = []
            while tried.filters() is not None:
                if not may_go:
                    return []
                victims.append(may_go.pop(0))
                tried.remove(victims[-1])
            # Not all of them may be needed: those who have run longest are the first to stay.
            for victim in victims[::-1]:
                tried.add(victim)
                if tried.filters() is None:
                    victims.remove(victim)
                else:
                    tried.remove(victim)
        return victims


def offers_to_go(pod: Pod) -> bool:
    return pod.labels.get(PREEMPTIBLE) == "true"


def started(pod: Pod) -> str:
    """A time that sorts as text; who has not started is the youngest."""
    return pod.status.start_time or "not yet"
