"""Plans and allocations recorded from kube-scheduler v1.36.4, by the allocator alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.plugins.devices.allocation.allocator import Allocator
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools
from moorage.plugins.devices.allocation.in_use import DevicesInUse
from moorage.plugins.devices.allocation.results import Plan
from moorage.plugins.devices.allocation.selectors import CelSelectors
from moorage.plugins.devices.allocation.slice_index import SliceIndex

Document = dict[str, Any]
T = TypeVar("T", bound=Object)

DATA = Path(__file__).parents[2] / "golden" / "data" / "devices.jsonl.gz"
PLUGIN = "DynamicResources"
REJECTIONS = ("cannot allocate all claims", str(InvalidPools()))


def test_every_recorded_plan_is_reproduced() -> None:
    differences, asked, planned, bound = [], 0, 0, 0
    for scenario, expected in recorded():
        recording = Recording(scenario)
        if recording.needs_more_than_claims:
            continue
        for name, verdicts in expected.get("filter", {}).items():
            if PLUGIN not in verdicts or not recording.open_claims:
                continue
            asked += 1
            answer = recording.answer(name)
            where = f"{scenario['id']} on {name}: "
            if not agrees(answer, verdicts[PLUGIN]):
                differences.append(f"{where}{answer}, not {verdicts[PLUGIN]}")
            if isinstance(answer, list):
                if name in expected["feasible"]:
                    planned += 1
                    found = {plan.claim.key: list(plan.devices) for plan in answer}
                    if found != expected["plans"][name]:
                        differences.append(f"{where}{found}, not {expected['plans'][name]}")
                for plan, written in allocations(answer, expected.get("bind", {}).get(name, {})):
                    bound += 1
                    if plan.document != written:
                        differences.append(f"{where}{plan.document}, not {written}")
    assert not differences, f"{len(differences)} differ\n" + "\n".join(differences[:10])
    assert min(asked, planned, bound) > 100


def recorded() -> Iterator[tuple[Document, Document]]:
    with gzip.open(DATA, "rt") as lines:
        for line in lines:
            case = json.loads(line)
            yield case["scenario"], case["expected"]


class Recording:
    """The objects of a scenario, and the claims of its pod that have no devices yet."""

    def __init__(self, scenario: Document) -> None:
        self.nodes = {each.name: each for each in of_kind(Node, scenario)}
        classes = {each.name: each for each in of_kind(DeviceClass, scenario)}
        claims = {each.key: each for each in of_kind(ResourceClaim, scenario)}
        slices, in_use = SliceIndex(), DevicesInUse()
        for item in of_kind(ResourceSlice, scenario):
            slices.put(item)
        for claim in claims.values():
            in_use.put_claim(claim)
        for document in scenario.get("inFlight", ()):
            claim = from_document(ResourceClaim, document)
            assert claim.status.allocation is not None
            in_use.begin_flight(claim.uid, claim.status.allocation)
        named = [claims[key] for key in claims_of(scenario["pod"]) if key in claims]
        self.open_claims = [claim for claim in named if claim.status.allocation is None]
        self.needs_more_than_claims = asks_for_extended_resources(scenario["pod"])
        self.allocator = Allocator(
            in_use,
            slices,
            classes.get,
            CelSelectors(),
            self.open_claims,
            seconds=0,
            new_share_id=lambda: "<new>",
        )

    def answer(self, node: str) -> list[Plan] | str:
        try:
            plans = self.allocator.allocate(self.nodes[node])
        except (AllocationFailed, InvalidPools) as error:
            return str(error)
        return REJECTIONS[0] if plans is None else plans


def of_kind(kind: type[T], scenario: Document) -> list[T]:
    return [from_document(kind, each) for each in scenario["objects"] if each["kind"] == kind.kind]


def claims_of(pod: Document) -> Iterator[str]:
    namespace = pod["metadata"]["namespace"]
    made = {
        each["name"]: each.get("resourceClaimName")
        for each in pod.get("status", {}).get("resourceClaimStatuses", ())
    }
    for each in pod["spec"].get("resourceClaims", ()):
        yield f"{namespace}/{each.get('resourceClaimName') or made.get(each['name'])}"


def asks_for_extended_resources(pod: Document) -> bool:
    return any(
        "/" in name
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ()))
        for name in container.get("resources", {}).get("requests", {})
    )


def agrees(answer: list[Plan] | str, verdict: Document) -> bool:
    """Claims that were allocated before may rule out a node, too."""
    if verdict["code"] == "Error":
        return isinstance(answer, str) and without_wording(answer) in without_wording(verdict["reasons"][0])
    reasons = [reason for reason in verdict.get("reasons", ()) if reason in REJECTIONS]
    return answer in reasons if reasons else isinstance(answer, list)


def without_wording(text: str) -> str:
    """Up to where the words of a CEL library begin."""
    for mark in ("CEL compile error: ", "CEL runtime error: "):
        before, found, _ = text.partition(mark)
        if found:
            return before + found
    return text


def allocations(plans: list[Plan], bind: Document) -> Iterator[tuple[Plan, Document]]:
    """What PreBind, if it is not disabled, writes into claims; if a pod names one twice, its first plan."""
    first = {plan.claim.key: plan for plan in reversed(plans)}
    for key, plan in first.items():
        written = bind.get("claims", {key: {}})[key].get("allocation")
        if written is not None:
            yield plan, {field: value for field, value in written.items() if field != "allocationTimestamp"}
