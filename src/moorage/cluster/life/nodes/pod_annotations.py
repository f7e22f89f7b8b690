"""The annotations with which a user says what becomes of a simulated pod."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from moorage.cluster.base.store import Stored

READY = "moorage/ready"
FINISH = "moorage/finish"
EXIT_CODE = "moorage/exit-code"
ALL = (READY, FINISH, EXIT_CODE)

NEVER = math.inf
_SECONDS = re.compile(r"(\d{1,9})s", re.ASCII)
_CODE = re.compile(r"\d{1,3}", re.ASCII)


def seconds(annotations: Mapping[str, str], name: str) -> float | None:
    """After how long something happens: at once for `true`, never for `false`; None if nothing is said."""
    text = annotations.get(name, "")
    if text in ("true", "false"):
        return 0.0 if text == "true" else NEVER
    found = _SECONDS.fullmatch(text)
    return float(found[1]) if found else None


def exit_code(annotations: Mapping[str, str]) -> int | None:
    """With which code containers end; None if nothing is said."""
    text = annotations.get(EXIT_CODE, "")
    return int(text) if _CODE.fullmatch(text) and int(text) < 256 else None


def misunderstood(pod: Stored) -> list[str]:
    """What is wrong with the annotations of a pod; such an annotation counts as not there."""
    return [
        f'The annotation {name}: "{pod.annotations[name]}" has no effect; {remedy}'
        for name in ALL
        if name in pod.annotations and (remedy := _remedy(pod, name))
    ]


def _remedy(pod: Stored, name: str) -> str:
    if name == EXIT_CODE and exit_code(pod.annotations) is None:
        return "it must be a number from 0 to 255"
    if name != EXIT_CODE and seconds(pod.annotations, name) is None:
        return 'it must be "true", "false" or a number of seconds such as "10s"'
    if name != READY and pod.spec.get("restartPolicy", "Always") == "Always":
        return "the restartPolicy of the pod must be Never or OnFailure"
    return ""
