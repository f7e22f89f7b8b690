"""What the scheduler knows of storage, once for all profiles, so that none gives away what another has."""

from __future__ import annotations

from moorage.api.storage import CSINode, PersistentVolumeClaim, StorageClass
from moorage.framework.handle import Handle
from moorage.plugins.storage.assumed import Assumed
from moorage.plugins.storage.provisioning import Provisioning
from moorage.plugins.storage.reach import Reach
from moorage.plugins.storage.volumes import Volumes


class Storage:
    """Ask for it with `handle.shared(Storage)`."""

    def __init__(self, handle: Handle) -> None:
        self.table = handle.state.table
        self.volumes = Volumes(handle)
        self.claims = Assumed(handle.lister_of(PersistentVolumeClaim))
        self.classes = handle.lister_of(StorageClass)
        self.csi_nodes = handle.lister_of(CSINode)
        self.reach = Reach(handle)
        self.provisioning = Provisioning(handle, self.reach)
