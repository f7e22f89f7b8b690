"""Which kube-scheduler Moorage stands in for, and what it calls its version where that would."""

from __future__ import annotations

import platform
import re

from moorage import __version__

KUBERNETES_VERSION = "1.36.4"
"""The kube-scheduler whose place Moorage takes."""

KUBERNETES_MINOR = KUBERNETES_VERSION.rpartition(".")[0]

GIT_VERSION = f"v{KUBERNETES_VERSION}+moorage.{__version__}"
"""What is said wherever kube-scheduler tells its version, unless `report_as` said otherwise."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_reported = GIT_VERSION


def report_as(version: str) -> None:
    """Has `build_info` tell another version of the same release; raises ValueError for any other."""
    global _reported
    if not re.fullmatch(rf"v?{re.escape(KUBERNETES_VERSION)}([-+][0-9A-Za-z.+-]+)?", version):
        raise ValueError(
            f'version "{version}" must match major/minor/patch of default version "{GIT_VERSION}"'
        )
    _reported = version


def build_info() -> dict[str, str]:
    """The version with the fields that Go components have; what compiles and runs is Python."""
    major, minor = KUBERNETES_MINOR.split(".")
    machine = platform.machine()
    return {
        "major": major,
        "minor": minor,
        "gitVersion": _reported,
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}",
    }


def raw_build_info() -> str:
    """The same in the form of `kube-scheduler --version=raw`."""
    major, minor, *rest = ((_go_name(key), value) for key, value in build_info().items())
    others = (
        (f"{kind}{part}", "") for kind in ("Emulation", "MinCompatibility") for part in ("Major", "Minor")
    )
    fields = ", ".join(f'{key}:"{value}"' for key, value in (major, minor, *others, *rest))
    return f"version.Info{{{fields}}}"


def _go_name(key: str) -> str:
    return key[0].upper() + key[1:]
