from collections.abc import Sequence

import msgspec

from moorage import Action, ClusterEvent, CycleState, Hint, Pod, PreFilterPlugin, Status


class MyPreFilterArgs(msgspec.Struct):
    annotation: str = "mycompany.com/environment"


class MyPreFilter(PreFilterPlugin):
    """Keeps pods with a certain annotation, whatever its value, from being scheduled."""

    args_type = MyPreFilterArgs
    args: MyPreFilterArgs

    def pre_filter(self, cycle: CycleState, pod: Pod) -> Status | None:
        if self.args.annotation in pod.annotations:
            return Status.unresolvable(f'pods with annotation "{self.args.annotation}" are not allowed')
        return None

    def events(self) -> Sequence[ClusterEvent]:
        """A rejected pod is tried again when it has lost the annotation, and for nothing else."""

        def hint(rejected: Pod, old: Pod, new: Pod) -> Hint:
            freed = new.uid == rejected.uid and self.args.annotation not in new.annotations
            return Hint.QUEUE if freed else Hint.SKIP

        return [ClusterEvent("Pod", Action.UPDATE, hint)]
