"""The devices that a pod claims: it is started once they are allocated and it may use them."""

from __future__ import annotations

from moorage.cluster.base.store import Store, Stored
from moorage.cluster.life.controllers.devices import claims
from moorage.cluster.life.controllers.devices.claims import CLAIMS, NotMade

FAILED = "FailedPrepareDynamicResources"


def problem_with_devices(store: Store, pod: Stored) -> str:
    """Why a pod cannot be started with its devices, as a kubelet tells it; "" if it can."""
    problem = _problem(store, pod)
    return f"Failed to prepare dynamic resources: prepare dynamic resources: {problem}" if problem else ""


def _problem(store: Store, pod: Stored) -> str:
    for entry in claims.entries(pod):
        try:
            name = claims.claim_name(pod, entry)
        except NotMade as error:
            return str(error)
        if name is not None:
            problem = _problem_with(store, pod, name, must_be_own=claims.is_generated(entry))
            if problem:
                return problem
    special = claims.claim_for_resources(pod)
    return _problem_with(store, pod, special, must_be_own=False) if special else ""


def _problem_with(store: Store, pod: Stored, name: str, *, must_be_own: bool) -> str:
    claim = store.get(CLAIMS, pod.namespace, name)
    if claim is None:
        return f'fetch ResourceClaim {name}: {CLAIMS} "{name}" not found'
    if must_be_own and (problem := claims.owner_problem(pod, claim)):
        return problem
    if not claims.is_reserved_for(claim, pod):
        return f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {name} ({claim.uid})"
    return "" if claims.is_allocated(claim) else f"ResourceClaim {name}: not allocated"
