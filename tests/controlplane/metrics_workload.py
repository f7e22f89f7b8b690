"""One workload for two schedulers, step by step so that both count the same: pods that are bound, gated,
refused, that wait for a volume and that preempt, before the eyes of an extender."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.controlplane.schedulers import Api, Document, ask, condition, node, pod
from tests.controlplane.servers import wait_for
from tests.framework.extenders.server import ExtenderServer

SCHEDULER = "default-scheduler"
CLAIM = "/api/v1/namespaces/default/persistentvolumeclaims/claim"
VOLUME = "/api/v1/persistentvolumes/volume"
SIMILAR = [f"similar-{number}" for number in range(5)]
BOUND = ["first", "second", "with-volume", "urgent", *SIMILAR]

_SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

Labels = frozenset[tuple[str, str]]


class Family:
    """A metric as it is shown."""

    def __init__(self, stability: str, type: str) -> None:
        self.stability = stability
        self.type = type
        self.values: dict[str, dict[Labels, float]] = {}
        self.bounds: list[str] = []

    @property
    def labels(self) -> set[str]:
        return {name for series in self.values.values() for labels in series for name, _ in labels}


class Page(dict[str, Family]):
    """A page of metrics, by name; it keeps the order of the bounds as they are written."""

    def __init__(self, page: str) -> None:
        super().__init__()
        stability = ""
        for line in page.splitlines():
            if line.startswith("# HELP "):
                _, _, name, text = line.split(" ", 3)
                stability = text[: text.index("]") + 1] if text.startswith("[") else ""
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                family = self[name] = Family(stability, kind)
            else:
                found = _SAMPLE.fullmatch(line)
                assert found is not None, line
                labels = dict(_LABEL.findall(found[2] or ""))
                if (bound := labels.pop("le", "")) and bound not in family.bounds:
                    family.bounds.append(bound)
                part = f"at most {bound}" if bound else found[1].removeprefix(name)
                family.values.setdefault(part, {})[frozenset(labels.items())] = float(found[3])

    def value(self, name: str, **labels: str) -> float:
        """What a counter, a gauge or the number of observations of a histogram is; 0 if it is not shown."""
        return sum(
            value
            for kind in ("", "_count")
            for found, value in self[name].values.get(kind, {}).items()
            if labels.items() <= dict(found).items()
        )


class Pages(NamedTuple):
    """What a scheduler showed before any pod, before the preemption, and at the end."""

    first: Page
    midway: Page
    last: Page


class Workload:
    """Plays it against the scheduler that listens on a port."""

    def __init__(self, api: Api, port: int, token: str) -> None:
        self._api = api
        self._port = port
        self._token = token

    def play(self) -> Pages:
        self._until("readiness", lambda: ask(self._port, "/readyz") == (200, "ok"))
        first = self._settled({"scheduler_cache_size": ({"type": "nodes"}, 2)})
        self._bind("first", requests={"cpu": "3"})
        self._bind("second", requests={"cpu": "3"})
        self._create("gated", schedulingGates=[{"name": "example.com/wait"}])
        self._create("refused", requests={"cpu": "30"})
        self._until("the refusal", lambda: condition(self._api.pod("refused")))
        self._bind_with_volume()
        midway = self._settled(
            {
                "scheduler_schedule_attempts_total": ({}, 4),
                "scheduler_event_handling_duration_seconds": ({"event": "AssignedPodAdd"}, 3),
                "scheduler_cache_size": ({"type": "pods"}, 3),
            }
        )
        self._preempt()
        for name in SIMILAR:
            self._bind(name, requests={"cpu": "10m"})
        self._label_a_node()
        last = self._settled(
            {
                "scheduler_schedule_attempts_total": ({}, len(BOUND) + 3),
                "scheduler_event_handling_duration_seconds": ({"event": "NodeUpdateNodeLabel"}, 1),
                "scheduler_queueing_hint_execution_duration_seconds": ({}, 2),
                "scheduler_cache_size": ({"type": "pods"}, len(BOUND) - 1),
            }
        )
        return Pages(first, midway, last)

    def _settled(self, expected: dict[str, tuple[dict[str, str], float]]) -> Page:
        """The page as soon as it says so, and that nothing is under way."""

        def as_expected() -> Page | None:
            page = self._page()
            assumed = page.value("scheduler_cache_size", type="assumed_pods")
            binding = (
                page.value("scheduler_goroutines", operation="binding")
                if "scheduler_goroutines" in page
                else 0
            )
            good = all(
                name in page and page.value(name, **labels) == value
                for name, (labels, value) in expected.items()
            )
            return page if good and not assumed and not binding else None

        found = self._until(f"metrics with {expected}", as_expected)
        assert isinstance(found, Page)
        return found

    def _page(self) -> Page:
        answer = ask(self._port, "/metrics", token=self._token)
        assert answer is not None and answer.status == 200, answer
        return Page(answer.text)

    def _until(self, what: str, happened: Any) -> Any:
        return wait_for(what, happened, seconds=40)

    def _create(self, name: str, **form: Any) -> None:
        self._api.create([pod(name, scheduler=SCHEDULER, **form)])

    def _bind(self, name: str, **form: Any) -> None:
        self._create(name, **form)
        self._until(f"the bind of {name}", lambda: name in self._api.bound())

    def _bind_with_volume(self) -> None:
        spec = {"storageClassName": "late", "accessModes": ["ReadWriteOnce"]}
        size = {"storage": "1Gi"}
        made = self._api.request(
            "POST",
            VOLUME.rpartition("/")[0],
            {"metadata": {"name": "volume"}, "spec": {**spec, "capacity": size, "hostPath": {"path": "/x"}}},
        )
        made["status"]["phase"] = "Available"
        self._api.request("PUT", f"{VOLUME}/status", made)
        self._api.request(
            "POST",
            CLAIM.rpartition("/")[0],
            {"metadata": {"name": "claim"}, "spec": {**spec, "resources": {"requests": size}}},
        )
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "claim"}}]
        self._create("with-volume", volumes=volumes)
        self._until("a claim", lambda: self._api.request("GET", VOLUME)["spec"].get("claimRef"))
        claim = self._api.request("GET", CLAIM)
        claim["spec"]["volumeName"] = "volume"
        claim["metadata"].setdefault("annotations", {})["pv.kubernetes.io/bind-completed"] = "yes"
        claim = self._api.request("PUT", CLAIM, claim)
        claim["status"] = {"phase": "Bound"}
        self._api.request("PUT", f"{CLAIM}/status", claim)
        self._until("the bind of with-volume", lambda: "with-volume" in self._api.bound())

    def _preempt(self) -> None:
        self._create("urgent", requests={"cpu": "3"}, priorityClassName="high")
        self._until("a nomination", lambda: self._api.pod("urgent")["status"].get("nominatedNodeName"))
        victim = self._until("a victim", self._victim)
        self._api.delete(f"/api/v1/namespaces/default/pods/{victim}")
        self._until("the bind of urgent", lambda: "urgent" in self._api.bound())

    def _victim(self) -> str:
        return next(
            (name for name, each in self._api.pods().items() if "deletionTimestamp" in each["metadata"]), ""
        )

    def _label_a_node(self) -> None:
        found = self._api.request("GET", "/api/v1/nodes/n1")
        found["metadata"]["labels"]["colour"] = "blue"
        self._api.request("PUT", "/api/v1/nodes/n1", found)


def furnish(api: Api) -> None:
    """What both schedulers find."""
    api.create(
        [
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": 1000,
            }
        ]
    )
    late = {"metadata": {"name": "late"}, "provisioner": "kubernetes.io/no-provisioner"}
    api.request(
        "POST",
        "/apis/storage.k8s.io/v1/storageclasses",
        {**late, "volumeBindingMode": "WaitForFirstConsumer"},
    )


@contextmanager
def two_nodes(api: Api) -> Iterator[None]:
    """Nodes of their own for one scheduler; what it leaves goes with them."""
    api.create([node("n1", cpu="4"), node("n2", cpu="4")])
    yield
    api.delete_all("pods", "nodes")
    for path in (CLAIM, VOLUME):
        found = api.request("GET", path)
        found["metadata"]["finalizers"] = []
        api.request("PUT", path, found)
        api.delete(path)


def extender() -> ExtenderServer:
    """Lets all nodes pass and likes them all."""

    def names(request: Document) -> list[str]:
        found: list[str] = request["NodeNames"]
        return found

    return ExtenderServer(
        {
            "filter": lambda request: {"NodeNames": names(request)},
            "prioritize": lambda request: [{"Host": name, "Score": 1} for name in names(request)],
        }
    )
