"""Gangs on an API server that come pod by pod, run and leave, while nodes fail and schedulers are killed."""

from __future__ import annotations

import itertools
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

from moorage.api.custom_resources.definitions import custom_resource_definition
from moorage.client.errors import NotFound
from moorage.contrib.objects import GROUP, GROUP_LABEL, PodGroup
from tests.controlplane.schedulers import (
    Api,
    Document,
    Moorage,
    configuration,
    moorage,
    node,
    pod,
)
from tests.controlplane.servers import Cluster, wait_for

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = f"/apis/{GROUP}/v1alpha1/namespaces/default/podgroups"
PODS = "/api/v1/namespaces/default/pods"
CORES = 4
PATIENCE = 90.0
ELECTION = {
    "leaseDuration": "8s",
    "renewDeadline": "6s",
    "retryPeriod": "500ms",
    "resourceNamespace": "default",
    "resourceName": "gangs",
}


def with_coscheduling(content: Document) -> Document:
    enabled = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    content["profiles"][0]["plugins"] = {**enabled, "queueSort": {"disabled": [{"name": "PrioritySort"}]}}
    return content


def define_pod_groups(api: Api) -> None:
    """Has the API server serve PodGroups."""
    definition = custom_resource_definition(PodGroup)
    api.request("POST", DEFINITIONS, definition)
    path = f"{DEFINITIONS}/{definition['metadata']['name']}"

    def established() -> bool:
        found = api.request("GET", path).get("status", {}).get("conditions", [])
        return any((each["type"], each["status"]) == ("Established", "True") for each in found)

    wait_for("the PodGroups to be served", established)


def group(name: str, minimum: int) -> Document:
    return {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minMember": minimum},
    }


def members(name: str, number: int, cpu: str = "1", start: int = 0) -> list[Document]:
    labels = {GROUP_LABEL: name}
    return [
        pod(f"{name}-{place}", labels=labels, requests={"cpu": cpu}) for place in range(start, start + number)
    ]


class Crowd:
    """A cluster that holds half of its gangs, with a scheduler that leads and one that stands by."""

    def __init__(self, cluster: Cluster, api: Api, gangs: int, seed: int) -> None:
        self._cluster = cluster
        self._api = api
        self._draw = random.Random(seed)
        self._sizes = {f"gang-{number}": self._draw.randint(2, 16) for number in range(gangs)}
        self._to_come = [each for name, size in self._sizes.items() for each in members(name, size)]
        self._draw.shuffle(self._to_come)
        self._came: Counter[str] = Counter()
        """How many members each gang has that is not through."""
        self._numbers = itertools.count(1000)
        self._ran: set[str] = set()
        self._hurt: set[str] = set()
        """Gangs of which a node took members along that are not all back yet."""
        room = max(sum(self._sizes.values()) // 2, 16)
        self._nodes = [f"n{number}" for number in range(-(-room // CORES))]

    def run(self) -> None:
        """Until every gang has run; fails if one stays in part, or if nobody gets on."""
        self._api.create(node(name, cpu=str(CORES)) for name in self._nodes)
        for name, size in self._sizes.items():
            self._api.request("POST", GROUPS, group(name, size))
        with ExitStack() as stack:
            self._schedulers = [self._another(stack), self._another(stack)]
            while len(self._ran) < len(self._sizes):
                for process in self._schedulers:
                    process.check_running()
                self._come()
                happens = (self._nothing, self._nothing, self._fail_node, lambda: self._lose_scheduler(stack))
                self._draw.choice(happens)()
                self._wait("all gangs to be whole", self._none_in_part)
                if not self._to_come:
                    self._wait("a gang that runs", lambda: bool(self._running()))
                self._leave()
        assert self._pods() == []

    def _another(self, stack: ExitStack) -> Moorage:
        content = with_coscheduling(configuration(self._cluster, election=ELECTION))
        return stack.enter_context(moorage(self._cluster, config=content, ready=False))

    # What happens

    def _nothing(self) -> None:
        pass

    def _come(self) -> None:
        coming = [self._to_come.pop() for _ in range(min(self._draw.randint(1, 60), len(self._to_come)))]
        self._came.update(map(_gang, coming))
        self._api.create(coming)

    def _fail_node(self) -> None:
        """A node goes with its pods; another one comes."""
        lost = self._nodes.pop(self._draw.randrange(len(self._nodes)))
        self._api.delete(f"/api/v1/nodes/{lost}")
        self._nodes.append(f"n{next(self._numbers)}")
        self._api.create([node(self._nodes[-1], cpu=str(CORES))])

    def _replace_lost(self) -> None:
        """Pods on nodes that are gone, to which binds may have been on their way, are made anew."""
        for each in self._pods():
            if each["spec"].get("nodeName", self._nodes[0]) not in self._nodes:
                with suppress(NotFound):  # a controller was faster
                    self._api.delete(f"{PODS}/{each['metadata']['name']}")
        missing = self._came - Counter(_gang(each) for each in self._pods())
        for name, number in missing.items():
            self._hurt.add(name)
            self._api.create(members(name, number, start=next(self._numbers) * 100))

    def _lose_scheduler(self, stack: ExitStack) -> None:
        """One of the two is killed, whatever it was doing, and started again; the other may have to lead."""
        place = self._draw.randrange(2)
        self._schedulers[place].send(signal.SIGKILL)
        self._schedulers[place].exit_code(10)
        self._schedulers[place] = self._another(stack)

    def _leave(self) -> None:
        """Some of the gangs that run are through."""
        running = self._running()
        leaving = self._draw.sample(running, self._draw.randint(min(1, len(running)), len(running)))
        self._ran.update(leaving)
        for name in leaving:
            del self._came[name]
        gone = [each["metadata"]["name"] for each in self._pods() if _gang(each) in leaving]
        self._api.delete(*(f"{PODS}/{name}" for name in gone))

    # What has to hold

    def _none_in_part(self) -> bool:
        self._replace_lost()
        self._hurt -= {name for name in self._hurt if self._bound()[name] >= self._sizes[name]}
        return all(count >= self._sizes[name] or name in self._hurt for name, count in self._bound().items())

    def _running(self) -> list[str]:
        return [name for name, count in self._bound().items() if count >= self._sizes[name]]

    def _bound(self) -> Counter[str]:
        pods = self._pods()
        used = Counter(each["spec"]["nodeName"] for each in pods if each["spec"].get("nodeName"))
        assert all(count <= CORES for count in used.values())
        return Counter(_gang(each) for each in pods if each["spec"].get("nodeName") in self._nodes)

    def _pods(self) -> list[Document]:
        pods = self._api.items("pods")
        return [each for each in pods if not each["metadata"].get("deletionTimestamp")]

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        wait_for(what, condition, seconds=PATIENCE)


def _gang(found: Document) -> str:
    name: str = found["metadata"]["labels"][GROUP_LABEL]
    return name


def clean(api: Api) -> Iterator[None]:
    """For a fixture: nothing is left behind."""
    yield
    api.delete_all("pods", "nodes")
    api.request("DELETE", GROUPS)
