import msgspec

from moorage import CycleState, Pod, PreFilterPlugin, Status


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
