"""Claims that pods have made from templates: made when the pod is there, and told in its status."""

from __future__ import annotations

from contextlib import suppress

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.devices import claims
from moorage.cluster.life.controllers.devices.claims import CLAIMS, TEMPLATES, NotMade
from moorage.cluster.life.controllers.devices.users import DeviceUsers
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.objects.admission.pod_groups import GROUPS
from moorage.cluster.objects.writes import InternalWriter

COMPONENT = "resource_claim"
_LONGEST_BASE = 57  # of a generated name, which has 63 letters with a hyphen and five random ones


class GeneratedClaims(Controller):
    """Makes claims for pods, and reserves claims for pods that got their node without a scheduler's help.

    A claim that is there already, from an attempt that got no further or after its pod's status was lost, is
    used again.
    """

    name = "resource claim"

    def __init__(self, writer: InternalWriter, clock: Clock, users: DeviceUsers) -> None:
        super().__init__(writer, clock)
        self._recorder = Recorder(writer, COMPONENT, clock)
        self._users = users

    def _begin(self) -> None:
        self._listen("pods", self._pod_changed)
        self._listen(CLAIMS, self._claim_changed)
        self._listen(TEMPLATES, self._template_changed)
        for pod in self._store.iterate("pods"):
            self._look(pod)
        if self._users.heeds_groups:
            self._listen(GROUPS, self._group_changed)

    def _group_changed(self, change: Change) -> None:
        group = change.new
        for pod in self._store.iterate("pods") if change.type != "DELETED" else ():
            if pod.namespace == group.namespace and claims.group_name(pod) == group.name:
                self._look(pod)

    def _pod_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._look(change.new)

    def _claim_changed(self, change: Change) -> None:
        for pod in self._users.of_claim(change.new.key):
            self._look(pod)

    def _template_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            for pod in self._users.of_template(change.new.key):
                self._look(pod)

    def _look(self, pod: Stored) -> None:
        if claims.entries(pod) and _may_run(pod) and self._lacks_something(pod):
            self._queue.add(pod.key)

    def _lacks_something(self, pod: Stored) -> bool:
        for entry in claims.entries(pod):
            try:
                name = claims.claim_name(pod, entry)
            except NotMade:
                return True
            claim = self._store.get(CLAIMS, pod.namespace, name) if name is not None else None
            if name is not None and claim is None and claims.is_generated(entry):
                return True
            if claim is not None and _is_to_be_reserved(pod, entry, claim):
                return True
        return False

    async def _reconcile(self, key: objects.Key) -> None:
        pod = self._store.get("pods", *key)
        if pod is None or not _may_run(pod):
            return
        made: dict[str, str] = {}
        for entry in claims.entries(pod):
            if claims.is_generated(entry):
                claim = self._ensure(pod, entry)
                if claim is None:
                    return
                made[entry["name"]] = claim
        if made:
            pod = self._tell_pod(pod, made)
        if pod is not None and pod.spec.get("nodeName"):
            self._reserve(pod)

    def _ensure(self, pod: Stored, entry: Document) -> str | None:
        """The name of the claim for an entry, which is made if it is not there; None if that cannot be now.

        It is "" if none is needed.
        """
        try:
            name = claims.claim_name(pod, entry)
        except NotMade:
            name = ""
        if name is None:
            return ""
        known = self._store.get(CLAIMS, pod.namespace, name) if name else None
        if known is not None and not claims.owner_problem(pod, known):
            return known.name
        found = self._users.made_for(pod, entry["name"])
        if found is not None:
            return found.name
        if self._users.heeds_groups:
            try:
                group = claims.group_with(self._store, pod, entry)
            except NotMade:
                return None  # the pod is looked at again when the group comes
            if group is not None:
                made = self._users.made_for(group, entry["name"])
                return "" if made is None else made.name
        template = self._store.get(TEMPLATES, pod.namespace, entry["resourceClaimTemplateName"])
        if template is None:
            # The pod is looked at again when the template comes.
            wanted = entry["resourceClaimTemplateName"]
            missing = f'resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            self._fail(pod, entry, f'resource claim template "{wanted}": {missing}')
            return None
        try:
            return self._writer.create(CLAIMS, new_claim(pod, "v1", "Pod", entry, template)).name
        except Refusal as refusal:
            if objects.is_ending(self._store, pod.namespace):
                return None
            # It has no name yet that could be told.
            self._fail(pod, entry, f"create ResourceClaim : {refusal.message}")
            raise

    def _fail(self, pod: Stored, entry: Document, problem: str) -> None:
        text = f"PodResourceClaim {entry['name']}: {problem}"
        self._recorder.tell(pod, "FailedResourceClaimCreation", text, warning=True)

    def _tell_pod(self, pod: Stored, made: dict[str, str]) -> Stored | None:
        """Has the pod's status name its claims; an entry that needs none stays as it is."""
        known = pod.status.get("resourceClaimStatuses") or []
        told = {status["name"]: status for status in known}
        told |= {name: {"name": name, "resourceClaimName": claim} for name, claim in made.items() if claim}
        status = {**pod.status, "resourceClaimStatuses": list(told.values())}
        return objects.write_status(self._writer, "pods", pod, status)

    def _reserve(self, pod: Stored) -> None:
        """Reserves allocated claims for a pod that is on a node already."""
        for entry in claims.entries(pod):
            name = claims.claim_name(pod, entry)
            claim = self._store.get(CLAIMS, pod.namespace, name) if name is not None else None
            if claim is not None and _is_to_be_reserved(pod, entry, claim):
                reserved = [*claims.consumers(claim), self._consumer(pod, entry)]
                objects.write_status(self._writer, CLAIMS, claim, {**claim.status, "reservedFor": reserved})

    def _consumer(self, pod: Stored, entry: Document) -> Document:
        group = None
        if self._users.heeds_groups:
            with suppress(NotMade):
                group = claims.group_with(self._store, pod, entry)
        if group is None:
            return {"resource": "pods", "name": pod.name, "uid": pod.uid}
        kind = {"apiGroup": claims.GROUP_API, "resource": "podgroups"}
        return {**kind, "name": group.name, "uid": group.uid}


def _may_run(pod: Stored) -> bool:
    """Whether a pod needs its claims; those of a finished one were given up and are not made again."""
    return not pod.is_deleted and not objects.is_finished(pod)


def _is_to_be_reserved(pod: Stored, entry: Document, claim: Stored) -> bool:
    return (
        bool(pod.spec.get("nodeName"))
        and claims.is_allocated(claim)
        and not claims.is_reserved_for(claim, pod)
        and not (claims.is_generated(entry) and claims.owner_problem(pod, claim))
    )


def new_claim(owner: Stored, api_version: str, kind: str, entry: Document, template: Stored) -> Document:
    given = template.spec.get("metadata") or {}
    reference = {"apiVersion": api_version, "kind": kind, "name": owner.name, "uid": owner.uid}
    metadata = {
        "generateName": generated_base(owner.name, entry["name"]),
        "namespace": owner.namespace,
        "ownerReferences": [{**reference, "controller": True}],
        "annotations": {**(given.get("annotations") or {}), claims.ENTRY_ANNOTATION: entry["name"]},
        **({"labels": given["labels"]} if given.get("labels") else {}),
    }
    return objects.copied({"metadata": metadata, "spec": template.spec.get("spec") or {}})


def generated_base(pod_name: str, entry_name: str) -> str:
    """What the names of claims for an entry begin with: of both names, if need be, the same share."""
    whole = f"{pod_name}-{entry_name}-"
    if len(whole) <= _LONGEST_BASE:
        return whole
    shares = (name[: len(name) * _LONGEST_BASE // len(whole)] for name in (pod_name, entry_name))
    return "-".join(shares)
