"""PodGroups that are made from a template name one that there is; those that are in use are not deleted."""

from __future__ import annotations

from moorage.cluster.objects.admission.attempt import Attempt

GROUPS = "podgroups.scheduling.k8s.io"
WORKLOADS = "workloads.scheduling.k8s.io"
FINALIZER = "scheduling.k8s.io/podgroup-protection"


def protect_pod_group(attempt: Attempt) -> None:
    metadata = attempt.document["metadata"]
    finalizers = metadata.get("finalizers") or []
    if FINALIZER not in finalizers:
        metadata["finalizers"] = [*finalizers, FINALIZER]


def admit_pod_group(attempt: Attempt) -> None:
    reference = (attempt.document["spec"].get("podGroupTemplateRef") or {}).get("workload")
    if reference is None:
        return
    workload, template = reference.get("workloadName", ""), reference.get("podGroupTemplateName", "")
    stored = attempt.store.get(WORKLOADS, attempt.namespace, workload)
    if stored is None:
        raise attempt.forbidden(f'PodGroup rejected: Workload "{workload}" not found')
    if stored.is_deleted:
        raise attempt.forbidden(f'PodGroup rejected: Workload "{workload}" is being deleted')
    if all(each.get("name") != template for each in stored.spec.get("podGroupTemplates") or ()):
        raise attempt.forbidden(
            f'PodGroup rejected: PodGroupTemplate "{template}" not found in Workload "{workload}"'
        )
