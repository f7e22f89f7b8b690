"""What the runtime tells those who count and measure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from moorage.framework.queued_pod import QueuedPod

Points = tuple[tuple[str, str], ...]
"""Extension points, each with the code that it ended with."""


class Observer(Protocol):
    """Told of attempts, extension points and plugins; the scheduler's metrics are one."""

    def samples_plugins(self) -> bool:
        """Whether the plugins of the attempt that begins are to be timed one by one."""

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        """An attempt ended without a node, `seconds` after it began."""

    def algorithm(self, seconds: float) -> None:
        """A node was found, or found to be missing."""

    def extension_point(self, profile: str, point: str, code_label: str, seconds: float) -> None:
        """All plugins of a point were run for one pod."""

    def points_passed(self, profile: str, points: Points) -> None:
        """A pod passed these points, where no plugin had anything to do for it, in no time."""

    def plugin_evaluated(self, plugin: str, point: str, profile: str, count: int = 1) -> None:
        """A plugin was asked so many times."""

    def plugins_evaluated(self, plugins: Iterable[str], point: str, profile: str, count: int = 1) -> None:
        """Each of these plugins was asked so many times."""

    def plugin_executed(self, plugin: str, point: str, code_label: str, seconds: float) -> None:
        """A plugin took so long, in an attempt whose plugins are timed."""

    def plugin_slow(self, plugin: str, point: str, profile: str) -> None:
        """A plugin held everything up."""

    def plugin_failed(self, plugin: str, profile: str) -> None:
        """A plugin raised, or answered what it must not."""

    def plugin_wrote(self, plugin: str, profile: str, result: str) -> None:
        """A write of a plugin ended: `success`, `error` or `cancelled`."""

    def background_failed(self, plugin: str, task: str, profile: str) -> None:
        """The background work of a plugin raised; `task` is the method."""

    def preemption_attempt(self) -> None:
        """Victims are being looked for."""

    def preemption(self, victims: int) -> None:
        """A node was chosen on which so many pods have to go."""

    def evicted(self, result: str, seconds: float) -> None:
        """The victims of a preemption were told to go (`success`), or could not be (`error`)."""

    def prioritizing_started(self) -> None:
        """An extender is being asked for scores."""

    def prioritizing_ended(self) -> None:
        """It has answered, or failed to."""

    def permit_waited(self, result: str, seconds: float) -> None:
        """A pod waited on permit; `result` is the label of the code with which that ended."""

    def volume_stage_failed(self, operation: str) -> None:
        """Volumes could not be judged, reserved or bound: `predicate`, `assume` or `bind`."""

    def binding_started(self) -> None:
        """A binding cycle began."""

    def binding_ended(self) -> None:
        """A binding cycle ended, however it did."""

    def bound(
        self, queued: QueuedPod, profile: str, seconds_since_pop: float, sli_seconds: float | None
    ) -> None:
        """A pod was bound; `sli_seconds` counts from its first entry into the active queue."""

    def event_handled(self, event: str, seconds: float) -> None:
        """What follows from a change in the cluster is done; `event` is its label, such as `NodeAdd`."""

    def hint_given(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        """A plugin said whether an event helps a pod: `Queue`, `QueueSkip` or, if it could not, `Error`."""


class NoObserver:
    """Counts nothing."""

    def samples_plugins(self) -> bool:
        return False

    def attempt(self, profile: str, result: str, seconds: float) -> None:
        pass

    def algorithm(self, seconds: float) -> None:
        pass

    def extension_point(self, profile: str, point: str, code_label: str, seconds: float) -> None:
        pass

    def points_passed(self, profile: str, points: Points) -> None:
        pass

    def plugin_evaluated(self, plugin: str, point: str, profile: str, count: int = 1) -> None:
        pass

    def plugins_evaluated(self, plugins: Iterable[str], point: str, profile: str, count: int = 1) -> None:
        pass

    def plugin_executed(self, plugin: str, point: str, code_label: str, seconds: float) -> None:
        pass

    def plugin_slow(self, plugin: str, point: str, profile: str) -> None:
        pass

    def plugin_failed(self, plugin: str, profile: str) -> None:
        pass

    def plugin_wrote(self, plugin: str, profile: str, result: str) -> None:
        pass

    def background_failed(self, plugin: str, task: str, profile: str) -> None:
        pass

    def preemption_attempt(self) -> None:
        pass

    def preemption(self, victims: int) -> None:
        pass

    def evicted(self, result: str, seconds: float) -> None:
        pass

    def prioritizing_started(self) -> None:
        pass

    def prioritizing_ended(self) -> None:
        pass

    def permit_waited(self, result: str, seconds: float) -> None:
        pass

    def volume_stage_failed(self, operation: str) -> None:
        pass

    def binding_started(self) -> None:
        pass

    def binding_ended(self) -> None:
        pass

    def bound(
        self, queued: QueuedPod, profile: str, seconds_since_pop: float, sli_seconds: float | None
    ) -> None:
        pass

    def event_handled(self, event: str, seconds: float) -> None:
        pass

    def hint_given(self, plugin: str, event: str, hint: str, seconds: float) -> None:
        pass
