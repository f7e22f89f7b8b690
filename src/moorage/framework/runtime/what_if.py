"""What if: one node as it would be with other pods on it, for a plugin that asks."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from moorage.api.pods import Pod
from moorage.framework.cycle_state import CycleState
from moorage.framework.runtime.filtering import add_pod, filter_one, filter_with_rivals, remove_pod
from moorage.framework.status import Status
from moorage.state.node_info import NodeInfo, PodInfo
from moorage.state.trial import Trial

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile


class WhatIfError(RuntimeError):
    """A question that cannot be asked; the text says why."""


class WhatIf:
    """A node as it would be; `handle.what_if` makes it, for a `with` block.

        with self.handle.what_if(cycle, pod, node) as tried:
            tried.remove(victim)
            if tried.filters() is None:
                ...  # without the victim the pod would fit

    Inside the block `node` shows the pods and the usage as they would be, and every filter sees the same. At
    the end of the block all of it is undone, whatever was raised in it. `cycle` stays as it is: the plugins
    work on a copy. Blocks may stand in blocks, for the same node or for others, and see what the outer ones
    changed. A block must not await.
    """

    def __init__(self, profile: Profile, cycle: CycleState, pod: Pod, node: NodeInfo) -> None:
        self.node = node
        """The node, with the pods that it would have."""
        self.failed: Status | None = None
        """The Error of a plugin that could not follow `add` or `remove`; `filters` answers with it."""
        self.cycle: CycleState = cycle
        """In the block: the copy that the plugins work on, which has what they were told."""
        self._profile = profile
        self._pod = pod
        self._given = cycle
        self._trial = profile.state.what_if(node, self)
        self._removed: dict[str, PodInfo] = {}

    def __enter__(self) -> WhatIf:
        # A block that stands in others goes on from what the plugins were told there.
        outer = self._outer()
        self.failed = None if outer is None else outer.failed
        self.cycle = (self._given if outer is None else outer.cycle).clone()
        self._removed.clear()
        self._trial.__enter__()
        return self

    def _outer(self) -> WhatIf | None:
        for trial in reversed(self._profile.trials):
            outer = trial.of if isinstance(trial, Trial) else None
            if isinstance(outer, WhatIf) and outer._given is self._given:
                return outer
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._trial.__exit__(kind, error, trace)

    def remove(self, pod: Pod) -> None:
        """As if the pod were gone from the node; it may be one that `add` put there."""
        self._check_open()
        info = self.node.info_of(pod)
        if info is None:
            raise WhatIfError(f"pod {pod.key} cannot be removed: it is not on node {self.node.name}")
        self._trial.remove(info)
        self._removed[pod.uid] = info
        if self.failed is None:
            self.failed = remove_pod(self._profile, self.cycle, self._pod, info.pod, self.node)

    def add(self, pod: Pod) -> None:
        """As if the pod were on the node; it may be one that `remove` took away, or any other."""
        self._check_open()
        if self.node.has(pod):
            raise WhatIfError(f"pod {pod.key} cannot be added: it is on node {self.node.name} already")
        info = self._removed.get(pod.uid)
        if info is None or info.pod is not pod:
            info = self._profile.state.pod_info(pod)
        self._trial.add(info)
        if self.failed is None:
            self.failed = add_pod(self._profile, self.cycle, self._pod, pod, self.node)

    def filters(self, *, with_nominated_pods: bool = True) -> Status | None:
        """The answer of all filters for the pod on the node as it would be: the first rejection, or None.

        The pod must also fit beside the pods that are nominated to the node and are as important, as in
        preemption; `with_nominated_pods=False` leaves them out.
        """
        self._check_open()
        if self.failed is not None:
            return self.failed
        ask = filter_with_rivals if with_nominated_pods else filter_one
        return ask(self._profile, self.cycle, self._pod, self.node)

    def _check_open(self) -> None:
        if not self._trial.is_open:
            raise WhatIfError(
                f"the what-if about node {self.node.name} is not open: use it inside of its `with` block, "
                "and do not await there"
            )
