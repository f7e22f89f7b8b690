"""Claims that PodGroups have made from templates: one for all the pods of a group that name it."""

from __future__ import annotations

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.devices import claims
from moorage.cluster.life.controllers.devices.claims import CLAIMS, TEMPLATES
from moorage.cluster.life.controllers.devices.generated import COMPONENT, new_claim
from moorage.cluster.life.controllers.devices.users import DeviceUsers
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.objects.admission.pod_groups import GROUPS
from moorage.cluster.objects.writes import InternalWriter

_API_VERSION = f"{claims.GROUP_API}/v1alpha2"


class ClaimsOfGroups(Controller):
    """Makes claims for PodGroups and has their status tell of them; where the gate of that is on."""

    name = "resource claim of a pod group"

    def __init__(self, writer: InternalWriter, clock: Clock, users: DeviceUsers) -> None:
        super().__init__(writer, clock)
        self._recorder = Recorder(writer, COMPONENT, clock)
        self._users = users

    def _begin(self) -> None:
        if not self._users.heeds_groups:
            return
        self._listen(GROUPS, self._group_changed)
        self._listen(CLAIMS, self._claim_changed)
        self._listen(TEMPLATES, self._template_changed)
        for group in self._store.iterate(GROUPS):
            self._look(group)

    def _group_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._look(change.new)

    def _claim_changed(self, change: Change) -> None:
        owner = claims.owning_group(change.new) if change.type == "DELETED" else None
        if owner is not None:
            self._queue.add((change.new.namespace, owner["name"]))

    def _template_changed(self, change: Change) -> None:
        template = change.new
        for group in self._store.iterate(GROUPS) if change.type != "DELETED" else ():
            names = {entry.get("resourceClaimTemplateName") for entry in claims.entries(group)}
            if group.namespace == template.namespace and template.name in names:
                self._queue.add(group.key)

    def _look(self, group: Stored) -> None:
        if any(map(claims.is_generated, claims.entries(group))):
            self._queue.add(group.key)

    async def _reconcile(self, key: objects.Key) -> None:
        group = self._store.get(GROUPS, *key)
        if group is None or group.is_deleted:
            return
        told: dict[str, Document] = {
            status["name"]: status for status in group.status.get("resourceClaimStatuses") or ()
        }
        for entry in filter(claims.is_generated, claims.entries(group)):
            name = self._ensure(group, entry)
            if name:
                told[entry["name"]] = {"name": entry["name"], "resourceClaimName": name}
        if told:
            status = {**group.status, "resourceClaimStatuses": list(told.values())}
            objects.write_status(self._writer, GROUPS, group, status)

    def _ensure(self, group: Stored, entry: Document) -> str:
        """The name of the claim for an entry, which is made if it is not there; "" if that cannot be now."""
        found = self._users.made_for(group, entry["name"])
        if found is not None:
            return found.name
        wanted = entry["resourceClaimTemplateName"]
        template = self._store.get(TEMPLATES, group.namespace, wanted)
        if template is None:
            # The group is looked at again when the template comes.
            missing = f'resourceclaimtemplate.resource.k8s.io "{wanted}" not found'
            self._fail(group, entry, f'resource claim template "{wanted}": {missing}')
            return ""
        try:
            return self._writer.create(
                CLAIMS, new_claim(group, _API_VERSION, "PodGroup", entry, template)
            ).name
        except Refusal as refusal:
            if objects.is_ending(self._store, group.namespace):
                return ""
            self._fail(group, entry, f"create ResourceClaim : {refusal.message}")
            raise

    def _fail(self, group: Stored, entry: Document, problem: str) -> None:
        text = f"PodGroupResourceClaim {entry['name']}: {problem}"
        self._recorder.tell(group, "FailedResourceClaimCreation", text, warning=True)
