"""One pod against one cluster state, with everything there is to know about the decision."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from moorage.api.decoding import DecodeError, from_document
from moorage.api.devices import ResourceClaim
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.config import KubeSchedulerConfiguration, load
from moorage.contrib.objects import kind_of
from moorage.framework.handle import Services
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.calls import ask
from moorage.framework.runtime.filtering import about
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.plugins.preemption.candidates import best_candidates
from moorage.plugins.preemption.default_preemption import DefaultPreemption
from moorage.queue.gating import first_objection
from moorage.scheduler.cycle import Decision, NodeChooser, rank
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION, make_profiles
from moorage.scheduler.search import rows_of
from moorage.state.nodes import Nodes
from moorage.what_if.device_outcomes import DeviceOutcomes, devices_plugin
from moorage.what_if.failed_plugins import FailedPlugins

Document = dict[str, Any]


def read_objects(documents: Iterable[Document]) -> list[Object]:
    """The objects of these documents whose kind a scheduler knows; raises DecodeError."""
    if not isinstance(documents, list | tuple):
        raise DecodeError("objects: not a list of Kubernetes objects")
    objects: list[Object] = []
    for place, document in enumerate(documents):
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise DecodeError(f"objects[{place}]: not a Kubernetes object; give it a `kind`")
        kind = kind_of(document)
        if kind is not None:
            objects.append(from_document(kind, document))
    return objects


class Scenario:
    """A cluster state and a profile, ready to be asked about pods."""

    def __init__(
        self,
        objects: Iterable[Object],
        registry: Registry,
        config: KubeSchedulerConfiguration | None = None,
        services: Services | None = None,
    ) -> None:
        self.failed_plugins = FailedPlugins()
        self.services = services or Services()
        self.services.observer = self.failed_plugins
        config = config or load(DEFAULT_CONFIGURATION).config
        self.profiles = make_profiles(config, registry, self.services)
        self.profile: Profile = next(iter(self.profiles.values()))
        self.services.listers.set_synced()
        for item in objects:
            self.add(item)

    def add(self, item: Object) -> None:
        """Puts an object into the cluster; finished pods are left out, as the scheduler never sees them."""
        door = self.services.door
        door.put(item)
        if isinstance(item, Pod) and item.spec.scheduler_name in self.profiles and door.is_pending(item):
            self.services.nominations.add(item)

    def begin_flight(self, claim: ResourceClaim) -> None:
        """Devices that were promised to the claim of another pod, and not written yet."""
        plugin = devices_plugin(self.profile)
        if plugin is not None and claim.status.allocation is not None:
            plugin.devices.in_use.begin_flight(claim.uid, claim.status.allocation)

    def evaluate(self, pod: Pod) -> Evaluation:
        """Runs one real cycle for a pod, over all nodes."""
        self.have(pod)
        return Evaluation.of(self.profile, pod)

    def have(self, pod: Pod) -> None:
        """Counts a pod that is asked about among the members of its gang."""
        if self.profile.gangs is not None:
            self.add(pod)


class Evaluation:
    """Everything about one decision."""

    def __init__(
        self, profile: Profile, pod: Pod, decision: Decision | None = None, gate: Status | None = None
    ) -> None:
        self.profile = profile
        self.table = profile.state.table
        self.pod = pod
        self.decision = decision
        self.gate = gate

    @classmethod
    def of(
        cls, profile: Profile, pod: Pod, *, preempts: bool = True, within: frozenset[str] | None = None
    ) -> Evaluation:
        """Runs one real cycle for a pod, over all nodes or those within these names.

        It runs without PostFilter if it is not to preempt.
        """
        objection = first_objection(profile, pod)
        if objection is not None:
            return cls(profile, pod, gate=objection)
        chooser = NodeChooser(find_all=True, preempts=preempts)
        chooser.within = within
        return cls(profile, pod, chooser.decide(profile, pod))

    def document(self) -> Document:
        """The result as the recordings have it."""
        if self.gate is not None:
            return {"feasible": [], "preEnqueue": {"plugin": self.gate.plugin, **_answer(self.gate)}}
        decision = self.decision
        assert decision is not None
        result: Document = {"feasible": sorted(decision.feasible.names) if decision.feasible else []}
        pre = decision.pre_filtered
        if pre is not None:
            result["preFilter"] = {
                "status": "Success" if pre.status is None else pre.status.code.label,
                "plugin": pre.status.plugin if pre.status else "",
                "reasons": sorted(pre.status.reasons) if pre.status else [],
                "nodeNames": None if pre.names is None else sorted(pre.names),
                "skippedFilters": sorted(decision.cycle.skip_filter),
            }
            if pre.status is None:
                result["filter"] = self.filters()
                result["nodeStatus"] = self.node_statuses()
        if decision.nominated_first:
            result["nominatedFirst"] = True
        result.update(self.scores())
        if decision.post_filtered is not None:
            result["postFilter"] = self.post_filter()
        self._tell_of_devices(result)
        failure = decision.failure
        if failure is not None:
            result["message"] = failure.message
            if not failure.is_rejection:
                result["schedulerError"] = {"phase": failure.phase, "message": failure.message}
        return result

    def _tell_of_devices(self, result: Document) -> None:
        """What the claims of the pod would get on each node, and what would be written on the best."""
        decision = self.decision
        assert decision is not None
        outcomes = DeviceOutcomes.of(self.profile, decision.cycle, self.pod)
        if outcomes is None:
            return
        if decision.failure is None and decision.feasible:
            plans = outcomes.plans(decision.feasible)
            if plans is not None:
                result["plans"] = plans
            result["bind"] = outcomes.bind(result.get("best") or ())
        if "postFilter" in result:
            freed, deleted = outcomes.deallocated(decision.statuses), outcomes.deleted()
            if freed:
                result["postFilter"]["deallocated"] = freed
            elif deleted:
                result["postFilter"]["deleted"] = deleted

    def filters(self) -> dict[str, dict[str, Document]]:
        """Node, filter and its answer, each filter asked on its own and without nominated pods."""
        decision = self.decision
        assert decision is not None and decision.pre_filtered is not None
        names = decision.pre_filtered.names
        nodes = Nodes.all(self.table) if names is None else Nodes(self.table, rows_of(self.profile, names))
        answers: dict[str, dict[str, Document]] = {name: {} for name in nodes.names}
        for plugin, _ in self.profile.filter:
            if plugin.name not in decision.cycle.skip_filter:
                asked = (decision.cycle, self.pod, nodes)
                verdicts = ask(about(nodes), self.profile, plugin, False, plugin.filter_nodes, *asked)
                for place, name in enumerate(nodes.names):
                    status = verdicts if isinstance(verdicts, Status) else verdicts.at(place)
                    answers[name][plugin.name] = _answer(status)
        return answers

    def node_statuses(self) -> dict[str, Document]:
        """The rejection of every node that was looked at, the first in the order of the filters."""
        decision = self.decision
        assert decision is not None
        statuses = decision.statuses
        if decision.nominated_first:
            statuses = NodeChooser(find_all=True).look_at_all(self.profile, self.pod, decision)
        return {name: {"plugin": status.plugin, **_answer(status)} for name, status in statuses.explicit()}

    def scores(self) -> Document:
        """Scores per feasible node, for a single one too; the sums and the best."""
        decision = self.decision
        assert decision is not None
        nodes = decision.feasible
        if decision.failure is not None or nodes is None or not len(nodes):
            return {}
        scores = decision.scores or rank(self.profile, decision.plan, decision.cycle, self.pod, nodes)
        if scores.status is not None and len(nodes) == 1 and scores.status.plugin == DynamicResources.name:
            return {"best": nodes.names}  # as recorded: nobody has to score the only node
        if scores.status is not None:
            return {"schedulerError": {"phase": "Score", "message": scores.status.message}}
        names = nodes.names
        counts = bool(self.profile.score) or len(self.profile.services.extenders) > 0
        totals = scores.totals.tolist() if counts else [1] * len(names)
        weights = {plugin.name: weight for plugin, weight, _ in self.profile.score}
        found: dict[str, Document] = {name: {} for name in names}
        for plugin, values in scores.by_plugin.items():
            for name, value in zip(names, values.tolist(), strict=True):
                found[name][plugin] = {"raw": value, "weighted": value * weights[plugin]}
        highest = max(totals)
        added = {
            name: {url: int(each[place]) for url, each in scores.by_extender.items()}
            for place, name in enumerate(names)
        }
        return {
            **({"extenderScores": added} if scores.by_extender else {}),
            "skippedScores": sorted(decision.cycle.skip_score & weights.keys()),
            "scores": found,
            "totals": dict(zip(names, totals, strict=True)),
            "best": sorted(name for name, total in zip(names, totals, strict=True) if total == highest),
        }

    def post_filter(self) -> Document:
        """The answer of PostFilter and, where preemption was tried, every node where it would help."""
        decision = self.decision
        assert decision is not None and decision.post_filtered is not None
        status = decision.post_filtered.status
        result: Document = {
            "code": status.code.label,
            "message": status.message,
            "candidates": None,
            "nominatedNodes": [],
            "nominatedNode": "",
            "victims": None,
        }
        preemption = next((p for p in self.profile.post_filter if isinstance(p, DefaultPreemption)), None)
        if preemption is None:
            nominated = decision.post_filtered.nominated_node or ""
            victims = [told.pod.key for told in self.profile.services.evicted if told.by.uid == self.pod.uid]
            result.update(nominatedNode=nominated, nominatedNodes=[nominated] if nominated else [])
            result["victims"] = sorted(victims) or None
            return result
        if status.code is Code.ERROR:
            return result
        if preemption.not_eligible(self.pod, decision.statuses):
            return result
        outcome = preemption.find_candidates(decision.cycle, self.pod, decision.statuses, everywhere=True)
        if not decision.statuses.nodes_with(Code.UNSCHEDULABLE):
            return result
        agreed = preemption.agreed(self.pod, outcome.candidates)
        candidates = outcome.candidates if isinstance(agreed, Status) else agreed
        result["candidates"] = {
            candidate.node_name: {
                "victims": sorted(victim.key for victim in candidate.victims),
                "numPDBViolations": candidate.pdb_violations,
            }
            for candidate in candidates
        }
        result["dryRunFailures"] = {name: _answer(failed) for name, failed in outcome.statuses.explicit()}
        best = [] if isinstance(agreed, Status) else best_candidates(candidates)
        result["nominatedNodes"] = sorted(candidate.node_name for candidate in best)
        if best:
            result["nominatedNode"] = best[0].node_name if len(best) == 1 else None
            victims = sorted(victim.key for victim in best[0].victims)
            result["victims"] = victims if len(best) == 1 else None
        return result


def _answer(status: Status | None) -> Document:
    if status is None or status.code is Code.SUCCESS:
        return {"code": "Success"}
    return {"code": status.code.label, "reasons": sorted(status.reasons)}


def evaluate(
    scenario: Document, registry: Registry, default: KubeSchedulerConfiguration | None = None
) -> Document:
    """The result for one scenario document: `id`, optional `config`, `objects` and `pod`.

    `default` is the configuration of a scenario that brings none.
    """
    built, pod = read_scenario(scenario, registry, default)
    return {"id": scenario.get("id", ""), **built.evaluate(pod).document()}


def read_scenario(
    scenario: Document, registry: Registry, default: KubeSchedulerConfiguration | None = None
) -> tuple[Scenario, Pod]:
    """The cluster and the pod of a scenario document."""
    config = load(_text(scenario["config"])).config if scenario.get("config") else default
    built = Scenario(read_objects(scenario.get("objects") or []), registry, config)
    for document in scenario.get("inFlight") or []:
        built.begin_flight(from_document(ResourceClaim, document))
    return built, from_document(Pod, scenario["pod"])


def _text(document: Document) -> bytes:
    import msgspec

    return msgspec.json.encode(document)
