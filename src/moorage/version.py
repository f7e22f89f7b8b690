"""Which kube-scheduler Moorage stands in for, and what it calls its version where that would."""

from __future__ import annotations

import platform

from moorage import __version__

KUBERNETES_VERSION = "1.36.4"
"""The kube-scheduler whose place Moorage takes."""

KUBERNETES_MINOR = KUBERNETES_VERSION.rpartition(".")[0]

GIT_VERSION = f"v{KUBERNETES_VERSION}+moorage.{__version__}"
"""What is said wherever kube-scheduler tells its version."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def build_info() -> dict[str, str]:
    """The version with the fields that Go components have; what compiles and runs is Python."""
    major, minor = KUBERNETES_MINOR.split(".")
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}",
    }
