"""Which persistent volume claims the volumes of a pod stand for."""

from __future__ import annotations

from moorage.api.pods import Pod


def uses_claims(pod: Pod) -> bool:
    """Whether a pod has volumes that stand for persistent volume claims."""
    return any(volume.persistent_volume_claim or volume.ephemeral for volume in pod.spec.volumes)
