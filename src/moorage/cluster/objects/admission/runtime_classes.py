"""There are no RuntimeClasses here, so no pod can have one."""

from __future__ import annotations

from moorage.cluster.objects.admission.attempt import Attempt


def admit_runtime_class(attempt: Attempt) -> None:
    name = attempt.document["spec"].get("runtimeClassName")
    if name:
        raise attempt.forbidden(f'pod rejected: RuntimeClass "{name}" not found')
