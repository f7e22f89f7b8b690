"""All that can be asked of a scheduler that runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import moorage
from moorage.api.pods import Pod
from moorage.api.points import POINTS
from moorage.framework.extension_points import BASES
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.profile import Profile
from moorage.insight.gangs import standing
from moorage.insight.live import asked_in_copies as copies
from moorage.insight.live.comparing import CompareBody
from moorage.insight.live.encoding import bounded
from moorage.insight.live.forked import DEFAULT_SECONDS, Forks
from moorage.insight.live.last_attempts import LastAttempts
from moorage.insight.live.nodes import NodeDocuments, Usage
from moorage.insight.live.pending import Groups
from moorage.insight.live.problems import gone, not_there
from moorage.insight.live.trying import TryBody
from moorage.insight.live.waiting import Position, WaitingPods, made_at, named, slowly
from moorage.insight.words.closest import closest

if TYPE_CHECKING:
    from moorage.insight.log.attempts import Attempt
    from moorage.insight.log.decision_log import DecisionLog
    from moorage.scheduler.scheduler import Scheduler

Document = dict[str, Any]

ATTEMPTS_OF_A_POD = 50
_SUMMARIES_AT_ONCE = 50


class Questions:
    """A method per question, each answered with a document.

    To be called in the scheduler's event loop, which none of them holds up for long. `leads` says whether
    this process is the one that schedules, `plugin_times` how long plugins took, `started` when the scheduler
    was made, if that was not just now.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        log: DecisionLog,
        registry: Registry,
        *,
        leads: Callable[[], bool] = lambda: True,
        plugin_times: Callable[[], Mapping[str, Document]] = dict,
        started: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.log = log
        self.leads = leads
        self._scheduler = scheduler
        self._registry = registry
        self._plugin_times = plugin_times
        self._clock = clock
        self._started = clock() if started is None else started
        # A cycle that waits for extenders has not ended: until then the state is in between.
        self._forks = Forks(scheduler.services.suspension.between_cycles)
        self._table = scheduler.state.table
        # No other scheduler of this process has told the same versions.
        self._nodes = NodeDocuments(self._table, int(clock() * 1000))
        self._waiting = WaitingPods(scheduler, LastAttempts(log))

    # The scheduler as a whole

    def summary(self) -> Document:
        log, now = self.log, self._clock()
        return {
            "version": moorage.__version__,
            "started": self._started,
            "now": now,
            "leads": self.leads(),
            "profiles": [_profile(each) for each in self._scheduler.profiles.values()],
            "nodes": len(self._table),
            "placedPods": self._scheduler.state.pod_total,
            "queue": self._waiting.counts(),
            "rates": log.rates.document(now),
            "log": {
                "attempts": log.newest - log.oldest + 1 if log.newest else 0,
                "oldest": log.oldest,
                "newest": log.newest,
                "bytes": log.size_bytes,
                "limitBytes": log.limit_bytes,
            },
        }

    def nodes(
        self, labels: Sequence[str] = (), begin: int = 0, limit: int = 20_000, version: int | None = None
    ) -> Document:
        """Nodes in columns. Who goes on from an earlier answer gives its version, as rows may have moved."""
        if version is not None and version != self._nodes.version:
            raise gone("the nodes are others by now; begin again without `continue`")
        return self._nodes.document(labels, begin, limit)

    @property
    def node_total(self) -> int:
        return len(self._table)

    def usage(self) -> Usage:
        """Tells from now on what changes of the nodes' usage."""
        return Usage(self._nodes, self._table)

    def plugins(self) -> Document:
        """What each plugin took."""
        times = self._plugin_times()
        found: dict[str, bool] = {}
        for profile in self._scheduler.profiles.values():
            for name, plugin in profile.plugins.items():
                found[name] = plugin in profile.ours
        nothing: Document = {"points": [], "failures": 0, "slow": 0}
        return {
            "plugins": [
                {"name": name, "inTree": in_tree, **times.get(name, nothing)}
                for name, in_tree in found.items()
            ]
        }

    # Waiting pods

    async def queue(
        self, where: str = "", search: str = "", after: Position | None = None, limit: int = 100
    ) -> tuple[Document, Position | None]:
        """A page of the queue, and the position from which the next goes on."""
        found, following = await self._waiting.page(where, search, after, limit)
        pods = await self._waiting.documents(found)
        return {"counts": self._waiting.counts(), "pods": pods}, following

    async def pending(self, *, advise: bool = False, namespace: str = "") -> Document:
        """Waiting pods by cause; with advice, what would help the first of each group and most of all."""
        groups = Groups(self._scheduler.profiles, self._is_gated)
        waiting = [each for each in self._waiting if not namespace or each.queued.pod.namespace == namespace]
        async for _, each in slowly(waiting):
            groups.add(each)
        ordered = list(groups)
        shown = await self._waiting.documents(group.first for group in ordered)
        documents = [group.document(first) for group, first in zip(ordered, shown, strict=True)]
        answer: Document = {"pods": len(waiting), "groups": documents}
        if advise:
            first = [group.first.queued.pod.key for group in ordered]
            answer.update(await self._advised(first, answer["groups"]))
        return answer

    async def _advised(self, pods: list[str], groups: list[Document]) -> Document:
        seconds = DEFAULT_SECONDS * copies.PART_OF_THE_TIME
        found = await self._ask_a_copy(lambda copy: copies.advise_groups(copy, pods, seconds))
        for group, key in zip(groups, pods, strict=True):
            group["advice"] = found["advice"].get(key)
        return {"best": found["best"]}

    # Attempts

    async def attempts(
        self,
        pod: str = "",
        outcome: str = "",
        node: str = "",
        plugin: str = "",
        before: int | None = None,
        limit: int = 100,
    ) -> list[Document]:
        """The newest first, of those before number `before`."""
        found = self.log.attempts(
            pod=pod, outcome=outcome, node=node, plugin=plugin, before=before, limit=limit
        )
        return [bounded(each.summary()) async for _, each in slowly(found, _SUMMARIES_AT_ONCE)]

    def last_attempts(self, limit: int, before: int | None = None) -> list[Document]:
        """A few of the newest, the newest first."""
        return [bounded(each.summary()) for each in self.log.attempts(before=before, limit=limit)]

    def attempt(self, number: int) -> Document:
        return _document(self._attempt(number).detail())

    def matrix(self, number: int, **how: Any) -> Document:
        """The nodes of an attempt and what each plugin said about them."""
        return _document(self._attempt(number).matrix(**how))

    def _attempt(self, number: int) -> Attempt:
        found = self.log.attempt(number)
        if found is None:
            kept = f"kept are {self.log.oldest} to {self.log.newest}" if self.log.newest else "none is kept"
            raise not_there(f"there is no attempt {number}: {kept}")
        return found

    def outcomes(self, numbers: Iterable[int]) -> list[Document]:
        """What became of attempts, of those that are still in the log."""
        found = (self.log.attempt(number) for number in numbers)
        return [
            {
                "number": each.number,
                "outcome": each.entry.outcome,
                "node": each.entry.node,
                "after": bounded(each.after()),
            }
            for each in found
            if each is not None
        ]

    # One pod

    async def pod(self, namespace: str, name: str, *, advise: bool = False) -> Document:
        """A pod's story and, if it waits, what would help."""
        from moorage.insight.words import words_for_pod

        await self._waiting.last_attempts.catch_up()
        document = self._story(namespace, name)
        if advise and document["state"] == "pending":
            key = f"{namespace}/{name}"
            document["advice"] = await self._ask_a_copy(lambda copy: copies.advise_pod(copy, key))
        document["words"] = words_for_pod(document)
        return document

    def _story(self, namespace: str, name: str) -> Document:
        wanted = Pod()
        wanted.metadata.namespace, wanted.metadata.name = namespace, name
        attempts = self.log.attempts(pod=wanted.key, limit=ATTEMPTS_OF_A_POD)
        pod = self._scheduler.door.find(wanted)
        if pod is None and not attempts:
            raise not_there(f"neither the scheduler nor its log knows a pod {wanted.key}"[:400])
        last = _document(attempts[0].detail()) if attempts else None
        document: Document = {
            "pod": named(pod) if pod is not None else attempts[0].summary()["pod"],
            "state": "unknown",
            "node": "",
            "since": None,
            "tries": 0 if last is None else last["try"],
            "queue": None,
            "last": last,
            "attempts": [bounded(each.summary()) for each in attempts],
            "closest": None,
            "advice": [],
        }
        if pod is not None:
            document.update(self._state(pod))
            told = (document["queue"] or {}).get("message") or ""
            profile = self._scheduler.profiles.get(pod.spec.scheduler_name)
            gang = standing(profile, pod, self._is_gated, told)
            if gang is not None:
                document["gang"] = gang
        return document

    def _is_gated(self, pod: Pod) -> bool:
        queued = self._scheduler.queue.get(pod)
        return queued is not None and queued.gated

    def _state(self, pod: Pod) -> Document:
        found = self._waiting.find(pod)
        if found is not None:
            entry = self._waiting.document(found)
            return {
                "state": "gated" if found.where == "gated" else "pending",
                "since": entry["since"],
                "tries": entry["tries"],
                "queue": entry,
                "closest": closest(self._table, pod),
                "owner": entry["owner"],
            }
        made = made_at(pod)
        if pod.spec.node_name:
            return {"state": "placed", "node": pod.spec.node_name, "since": made}
        placement = self._scheduler.state.placement(pod.uid)
        if placement is not None:
            return {"state": "binding", "node": placement.node.name, "since": made}
        if pod.spec.scheduler_name in self._scheduler.profiles:
            return {"state": "pending", "since": made}
        return {"state": "unknown", "since": made, "schedulerName": pod.spec.scheduler_name}

    # What if

    async def try_pod(self, asked: TryBody) -> bytes:
        """The answer as JSON: on a large cluster it is too large to be looked at here."""
        return await self._encoded_by_a_copy(lambda copy: copies.try_with_words(copy, asked))

    async def compare(self, asked: CompareBody) -> bytes:
        seconds = DEFAULT_SECONDS * copies.PART_OF_THE_TIME
        return await self._encoded_by_a_copy(lambda copy: copies.compare(copy, asked, seconds=seconds))

    async def _ask_a_copy(self, question: copies.Question) -> Any:
        return copies.decoded(await self._encoded_by_a_copy(question))

    async def _encoded_by_a_copy(self, question: copies.Question) -> bytes:
        scheduler, registry = self._scheduler, self._registry
        return copies.answer_of(await self._forks.ask(lambda: copies.answered(scheduler, registry, question)))


def _document(document: Document) -> Document:
    """What came from the log, with no text in it that is too long."""
    told: Document = bounded(document)
    return told


def _profile(profile: Profile) -> Document:
    points: Document = {}
    for key in BASES:
        plugins: Iterable[Any] = getattr(profile, POINTS[key].attribute)
        if key == "filter":
            points[key] = [each.plugin.name for each in plugins]
        elif key == "score":
            points[key] = [{"name": each.plugin.name, "weight": each.weight} for each in plugins]
        else:
            points[key] = [each.name for each in plugins]
    return {"name": profile.name, "plugins": points}
