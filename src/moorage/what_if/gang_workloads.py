"""Made-up gangs: which pods belong together, and the PodGroups that say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.contrib.objects import GROUP_LABEL, PodGroup

SIZES = (4, 2, 8, 16, 3, 6, 12, 5)
"""How many members gangs have, one after the other and again."""


def gang_of_pod(number: int) -> str:
    """The name of the gang to which the pod of this number belongs."""
    rounds, place = divmod(number, sum(SIZES))
    for gang, size in enumerate(SIZES):
        if place < size:
            return f"gang-{rounds * len(SIZES) + gang:05d}"
        place -= size
    raise AssertionError("the remainder is less than the sum")


def make_pod_groups(pods: Iterable[Pod]) -> Iterator[PodGroup]:
    """The group of each gang that pods name, to be placed with all of them; the last may be a smaller one."""
    sizes = Counter((pod.namespace, pod.labels[GROUP_LABEL]) for pod in pods if GROUP_LABEL in pod.labels)
    for (namespace, name), size in sizes.items():
        document = {
            "apiVersion": PodGroup.api_version(),
            "kind": PodGroup.kind,
            "metadata": {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}"},
            "spec": {"minMember": size},
        }
        yield from_document(PodGroup, document)
