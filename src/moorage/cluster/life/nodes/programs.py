"""Which containers are really run, where, and as what program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.nodes.environment import container_environment, expand
from moorage.cluster.life.nodes.processes import Launch
from moorage.cluster.life.nodes.volumes import SERVICE_ACCOUNT_PATH, Mount, Volumes, relocate

IMAGE = "moorage"
RUN_NAMESPACES = ("kube-system",)
"""Where pods may be run for real if nothing else is said: where `moorage manifests` puts schedulers."""
ENTRY_POINT = ("moorage", "run")
"""What the image runs where a container does not say."""
FOLDER_VARIABLE = "KUBERNETES_SERVICE_ACCOUNT_FOLDER"
"""Tells where the volume with the service account's token really is."""


class Programs:
    """Knows the images that are run for real, Moorage's own and those that are named, and where they may be.

    What runs for real can do all that the user of this process can. So it may only in some namespaces, and
    nowhere if none is given.
    """

    def __init__(self, images: Iterable[str] = (), namespaces: Iterable[str] = RUN_NAMESPACES) -> None:
        self._images = frozenset(images)
        self._namespaces = frozenset(namespaces)

    def is_run(self, container: Document) -> bool:
        image: str = container.get("image", "")
        name = image.rpartition("/")[2].partition("@")[0].partition(":")[0]
        return image in self._images or name == IMAGE

    def is_for_real(self, pod: Stored) -> bool:
        """Whether any container of a pod is to be run for real, be that allowed or not."""
        return bool(self._images_of(pod))

    def runs_pod(self, pod: Stored) -> bool:
        """Whether any container of a pod is run for real."""
        return pod.namespace in self._namespaces and self.is_for_real(pod)

    def refusal(self, pod: Stored) -> str | None:
        """Why a pod that is to be run for real is not."""
        if pod.namespace in self._namespaces or not (images := self._images_of(pod)):
            return None
        what = f"containers of the image {', '.join(images)} are processes of this machine"
        if not self._namespaces:
            return f"{what}, which moorage up was told not to start (--no-processes)"
        allowed = ", ".join(sorted(self._namespaces))
        remedy = f"moorage up --run-namespace={pod.namespace} allows it here"
        return f"{what}, which are started only in the namespaces: {allowed}; {remedy}"

    def _images_of(self, pod: Stored) -> list[str]:
        """The images of a pod that are run for real."""
        return list(
            dict.fromkeys(
                each["image"]
                for field in ("containers", "initContainers")
                for each in pod.spec.get(field) or ()
                if self.is_run(each)
            )
        )


def prepare(
    pod: Document, container: Document, node: Document, volumes: Volumes, given: dict[str, str]
) -> Launch:
    """How a container's program is started here, with variables that are given. Raises Unavailable."""
    variables = container_environment(pod, container, node, volumes.store, given)
    mounts = volumes.mounts(pod, container, variables)
    words = command_line(container, variables, mounts)
    for name, value in variables.items():
        if given.get(name) != value:
            variables[name] = relocate(value, mounts, after_equals=False)
    for mount in mounts:
        if mount.path == SERVICE_ACCOUNT_PATH:
            variables[FOLDER_VARIABLE] = str(mount.place)
    home = given["HOME"]
    folder = Path(relocate(container.get("workingDir") or home, mounts, after_equals=False))
    return Launch(words, variables, folder if folder.is_dir() else Path(home))


def command_line(container: Document, variables: Mapping[str, str], mounts: list[Mount]) -> list[str]:
    """The words by which a container's program is started here."""
    command = container.get("command") or ENTRY_POINT
    words = [
        relocate(expand(word, variables), mounts, after_equals=True)
        for word in (*command, *(container.get("args") or ()))
    ]
    return [*_program(words[0]), *words[1:]]


def _program(name: str) -> list[str]:
    if name in ("python", "python3"):
        return [sys.executable]
    if name == IMAGE:
        # The script beside the interpreter shows up as what it is in a list of processes.
        script = Path(sys.executable).with_name(IMAGE)
        if script.exists():
            return [str(script)]
        return [sys.executable, "-c", "from moorage.cli.main import main; main()"]
    return [name]
