"""A plugin that never returns, at whichever point a pod's annotation names."""

PLUGIN = '''
"""Hangs where a pod's annotation tells it to."""

from moorage import (
    BindPlugin,
    FilterPlugin,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    Status,
)


def hang_at(point, pod):
    if pod.annotations.get("hangs-at") == point:
        while True:
            pass


def hang_and_survive(pod):
    while pod.annotations.get("hangs-at") == "everywhere":
        try:
            hang_at("everywhere", pod)
        except BaseException:
            continue


class Stuck(
    PreEnqueuePlugin,
    QueueSortPlugin,
    PreFilterPlugin,
    FilterPlugin,
    PostFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    ReservePlugin,
    PermitPlugin,
    PreBindPlugin,
    BindPlugin,
    PostBindPlugin,
):
    def pre_enqueue(self, pod):
        hang_at("PreEnqueue", pod)

    def sort_key(self, queued):
        hang_at("QueueSort", queued.pod)
        return queued.timestamp

    def pre_filter(self, cycle, pod):
        hang_at("PreFilter", pod)

    def filter(self, cycle, pod, node):
        hang_and_survive(pod)
        hang_at("Filter", pod)
        if pod.annotations.get("hangs-at") == "PostFilter":
            return Status.unschedulable("not here")

    def post_filter(self, cycle, pod, statuses):
        hang_at("PostFilter", pod)
        return Status.unschedulable("nothing helps")

    def pre_score(self, cycle, pod, nodes):
        hang_at("PreScore", pod)

    def score(self, cycle, pod, node):
        hang_at("Score", pod)
        return 1

    def normalize_scores(self, cycle, pod, scores):
        hang_at("NormalizeScores", pod)
        return scores

    def reserve(self, cycle, pod, node_name):
        hang_at("Reserve", pod)
        if pod.annotations.get("hangs-at") == "Unreserve":
            return Status.unschedulable("given back")

    def unreserve(self, cycle, pod, node_name):
        hang_at("Unreserve", pod)

    def permit(self, cycle, pod, node_name):
        hang_at("Permit", pod)

    def pre_bind_pre_flight(self, cycle, pod, node_name):
        hang_at("PreBindPreFlight", pod)

    def pre_bind(self, cycle, pod, node_name):
        hang_at("PreBind", pod)

    def bind(self, cycle, pod, node_name):
        hang_at("Bind", pod)
        return Status.skip()

    def post_bind(self, cycle, pod, node_name):
        hang_at("PostBind", pod)
'''

_SAID = "did not return and was interrupted after {}"
MESSAGES = {
    "PreEnqueue": f'running PreEnqueue plugin "Stuck": Stuck.pre_enqueue {_SAID}',
    "QueueSort": f'running QueueSort plugin "Stuck": Stuck.sort_key {_SAID}',
    "PreFilter": f'running PreFilter plugin "Stuck": Stuck.pre_filter {_SAID}',
    "Filter": f'running "Stuck" filter plugin: Stuck.filter {_SAID}',
    "PostFilter": "0/2 nodes are available: 2 not here. running PostFilter plugin "
    f'"Stuck": Stuck.post_filter {_SAID}',
    "PreScore": f'running PreScore plugin "Stuck": Stuck.pre_score {_SAID}',
    "Score": f'running Score plugins: plugin "Stuck" failed with: Stuck.score {_SAID}',
    "NormalizeScores": 'running Normalize on Score plugins: plugin "Stuck" failed with: '
    f"Stuck.normalize_scores {_SAID}",
    "Reserve": f'running Reserve plugin "Stuck": Stuck.reserve {_SAID}',
    "Unreserve": "0/1 nodes are available: 1 given back.",
    "Permit": f'running Permit plugin "Stuck": Stuck.permit {_SAID}',
    "PreBindPreFlight": f'running PreBindPreFlight "Stuck": Stuck.pre_bind_pre_flight {_SAID}',
    "PreBind": f'running PreBind plugin "Stuck": Stuck.pre_bind {_SAID}',
    "Bind": f'running Bind plugin "Stuck": Stuck.bind {_SAID}',
    "PostBind": "Successfully assigned default/postbind to ",
}
"""What a pod's event says that hangs at a point, or how that begins; for the limit there is a gap."""
