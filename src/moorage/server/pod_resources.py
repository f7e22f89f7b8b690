"""What /metrics/resources shows: the requests and limits of every pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api import quantities
from moorage.api.pods import Pod, Quantities, restartable
from moorage.api.quantities import QuantityError
from moorage.api.requests import Exact, pod_requests
from moorage.api.resources import CPU, EPHEMERAL_STORAGE, MEMORY
from moorage.server.exposition import escaped, header, number

REQUEST = "kube_pod_resource_request"
LIMIT = "kube_pod_resource_limit"
_HELP = {
    REQUEST: "[STABLE] Resources requested by pods, per pod, as scheduler and kubelet count them.",
    LIMIT: "[STABLE] Resource limits of pods, per pod, as scheduler and kubelet count them.",
}
_UNITS = {CPU: "cores", MEMORY: "bytes", EPHEMERAL_STORAGE: "bytes", "storage": "bytes"}
_PODS_AT_ONCE = 200


def texts(pods: Iterable[Pod]) -> Iterator[str]:
    """The metrics in parts of bounded size, so that a caller can do other work in between."""
    running = [pod for pod in pods if not (pod.finished and pod.spec.node_name)]
    for metric in (REQUEST, LIMIT):
        begun = False
        for start in range(0, len(running), _PODS_AT_ONCE):
            lines = [line for pod in running[start : start + _PODS_AT_ONCE] for line in _lines(metric, pod)]
            if lines and not begun:
                begun = True
                yield "".join(header(metric, "gauge", _HELP[metric]))
            yield "".join(lines)


def _lines(metric: str, pod: Pod) -> Iterator[str]:
    try:
        amounts = pod_requests(pod) if metric == REQUEST else pod_limits(pod)
    except QuantityError:
        return
    spec = pod.spec
    priority = "" if spec.priority is None else spec.priority
    place = f'namespace="{pod.namespace}",node="{spec.node_name}",pod="{pod.name}"'
    scheduler = f'scheduler="{escaped(spec.scheduler_name)}"'
    for name, amount in amounts.items():
        if amount:
            value = number(amount / quantities.NANOS)
            what = f'priority="{priority}",resource="{escaped(name)}",{scheduler},unit="{unit(name)}"'
            yield f"{metric}{{{place},{what}}} {value}\n"


def unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    if resource.startswith("attachable-volumes-"):
        return "integer"
    return _UNITS.get(resource, "")


def pod_limits(pod: Pod) -> Exact:
    """The exact limits of a pod; overhead counts where there is a limit."""
    spec = pod.spec
    total: Exact = {}
    for container in spec.containers:
        _add(total, _exact(container.resources.limits))
    sidecars: Exact = {}
    peak: Exact = {}
    for container in spec.init_containers:
        in_use = _exact(container.resources.limits)
        if restartable(container):
            _add(total, in_use)
            _add(sidecars, in_use)
            in_use = sidecars
        else:
            _add(in_use, sidecars)
        _raise_to(peak, in_use)
    _raise_to(total, peak)
    if spec.resources is not None:
        total.update(_exact(spec.resources.limits))
    for name, amount in _exact(spec.overhead).items():
        if total.get(name):
            total[name] += amount
    return total


def _exact(amounts: Quantities) -> Exact:
    return {name: quantities.parse(amount) for name, amount in amounts.items()}


def _add(total: Exact, more: Exact) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise_to(most: Exact, amounts: Exact) -> None:
    for name, amount in amounts.items():
        most[name] = max(most.get(name, amount), amount)
