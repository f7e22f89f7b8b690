"""The scheduler within a copy of its process: all it knows, and nothing that it could do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moorage.api.pods import Pod
from moorage.config import ConfigError, load
from moorage.framework.door import NoFollower
from moorage.framework.eviction import Evictions
from moorage.framework.extenders.asking import Extenders
from moorage.framework.handle import NoRecorder
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.profile import Profile
from moorage.insight.live.problems import bad_question
from moorage.scheduler.profiles import make_profiles
from moorage.what_if.failed_plugins import FailedPlugins

if TYPE_CHECKING:
    from moorage.scheduler.scheduler import Scheduler


class Copy:
    """A scheduler after a fork: what is done to it stays here.

    Plugins are asked as always; but nothing is written, nobody is told, no pod is queued.
    """

    def __init__(self, scheduler: Scheduler, registry: Registry) -> None:
        self._registry = registry
        self.services = services = scheduler.services
        services.door.follow(NoFollower())
        services.client = None
        services.recorder_of = lambda profile_name: NoRecorder()
        services.may_bind = lambda: True
        services.activate = lambda pods: None
        services.find_pod = lambda pod: pod
        services.evicted = []
        services.shared.pop(Evictions, None)  # what has begun for a pod says nothing about what would be
        self.failed_plugins = FailedPlugins()
        services.observer = self.failed_plugins
        self.extenders_left_out = self._without_extenders()
        self.profiles: Mapping[str, Profile] = scheduler.profiles
        for profile in self.profiles.values():
            profile.observer = services.observer
            profile.recorder = NoRecorder()
            for plugin in profile.plugins.values():
                plugin.handle.recorder = NoRecorder()

    def _without_extenders(self) -> bool:
        """They are other processes, which must not be asked what is only supposed."""
        services = self.services
        had_any = bool(services.extenders)
        services.extenders = Extenders(services.suspension)
        return had_any

    def configured(self, text: str) -> Mapping[str, Profile]:
        """The profiles of another configuration, on the same state; raises Problem."""
        try:
            profiles = make_profiles(load(text).config, self._registry, self.services)
        except ConfigError as error:
            raise bad_question(f"config: {'; '.join(str(error).splitlines())}") from None
        self.extenders_left_out |= self._without_extenders()
        return profiles

    def take_off(self, pod: Pod) -> None:
        """As if the pod had never come."""
        self.services.nominations.remove(pod.uid)
        if self.services.state.is_assumed(pod.uid):
            self.services.state.remove_pod(pod.uid)
        self.services.door.remove(pod)
