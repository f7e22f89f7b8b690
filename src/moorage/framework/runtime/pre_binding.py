"""Pods in PreBind: until they are through, preemption may stop them without deleting anything."""

from __future__ import annotations

import asyncio
from typing import Any


class PodsInPreBind:
    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Future[Any]] = {}
        self._causes: dict[str, str] = {}

    def start(self, uid: str, task: asyncio.Future[Any]) -> None:
        self._tasks[uid] = task

    def cause(self, uid: str) -> str:
        """Why the pod was stopped, or "" if it was not."""
        return self._causes.get(uid, "")

    def through(self, uid: str) -> str:
        """The pod is through PreBind; returns why it was stopped, or "" if it was not."""
        self._tasks.pop(uid, None)
        return self.cause(uid)

    def forget(self, uid: str) -> None:
        """The pod is given back."""
        self._causes.pop(uid, None)

    def cancel(self, uid: str, cause: str) -> bool:
        """Stops a pod that is in PreBind; False if it is not. One that was stopped before stays so."""
        if uid in self._causes:
            return True
        task = self._tasks.pop(uid, None)
        if task is None:
            return False
        self._causes[uid] = cause
        task.cancel()
        return True
