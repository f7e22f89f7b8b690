"""Pods that wait on Permit, for plugins that are tested on their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from moorage.api.pods import Pod
from moorage.framework.runtime.waiting_pods import WaitingPod
from moorage.framework.status import Code, Status


class FakeWaitingPod(WaitingPod):
    """A waiting pod without a scheduler behind it: the test sees what plugins decide about it."""

    def __init__(self, pod: Pod, plugins: Iterable[str], ended: Callable[[], None]) -> None:
        """Made by `FakeHandle.add_waiting`."""
        # Nothing of the real one: that needs an event loop, in which it times out.
        self.pod = pod
        """The pod that waits."""
        self.rejection: Status | None = None
        """What a plugin said that rejected or preempted it."""
        self._pending = list(plugins)
        self._tell = ended

    @property
    def pending_plugins(self) -> list[str]:
        """The plugins that have not let it go yet."""
        return list(self._pending)

    @property
    def allowed(self) -> bool:
        """Whether all plugins that held it back have let it go."""
        return not self._pending and self.rejection is None

    def allow(self, plugin: str) -> None:
        """Lets it go for a plugin."""
        if self.rejection is None and plugin in self._pending:
            self._pending.remove(plugin)
            if not self._pending:
                self._tell()

    async def ended(self) -> Status | None:
        """There is no wait to end."""
        raise NotImplementedError("nobody waits for a FakeWaitingPod; see its `allowed` and `rejection`")

    def reject(self, plugin: str, message: str) -> bool:
        """Rejects it; whether this call was the one that decided it."""
        return self._end(Status(Code.UNSCHEDULABLE, message, plugin=plugin))

    def preempt(self, plugin: str, message: str) -> bool:
        """Ends its wait in favour of another pod; whether this call was the one that decided it."""
        return self._end(Status(Code.ERROR, message, plugin=plugin))

    def _end(self, status: Status | None) -> bool:
        if self.allowed or self.rejection is not None:
            return False
        self.rejection = status
        self._tell()
        return True
