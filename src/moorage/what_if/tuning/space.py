"""What a search may change in a configuration, and a configuration with the changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy

from moorage.config import load
from moorage.config.types import Profile
from moorage.what_if.sweeps.configurations import Document, profiles_of, set_weight, text_of
from moorage.what_if.tuning.parameters import Number, Parameter, Value, Values
from moorage.what_if.tuning.plugin_args import SEARCHED_ARGS, PluginArguments

HIGHEST_WEIGHT = 10

_SPEAK_FOR_PODS = {"TaintToleration", "NodeAffinity", "PodTopologySpread", "InterPodAffinity"}
"""They score what pods wish for, which no objective counts: their weight may fall, but not to nothing."""

_SAME_EVERYWHERE = {"VolumeBinding"}
"""It scores only behind a feature gate."""


class Space:
    """The parameters of a configuration: in each profile, weights of plugins that score, and their args."""

    def __init__(
        self, document: Document, scoring: Sequence[Mapping[str, int]], resources: Iterable[str]
    ) -> None:
        """`scoring` has the weights of the plugins that score, for each profile.

        `resources` are those that pods ask for."""
        self._document = document
        profiles = load(text_of(document)).config.profiles
        several = len(profiles) > 1
        wanted = sorted(resources)
        self._profiles = [
            _ProfileSpace(f"{profile.scheduler_name}/" if several else "", profile, weights, wanted)
            for profile, weights in zip(profiles, scoring, strict=True)
        ]
        self.parameters: list[Parameter] = [
            parameter for profile in self._profiles for parameter in profile.parameters()
        ]
        self.base: dict[str, Value] = {parameter.name: parameter.base for parameter in self.parameters}

    def document(self, values: Values) -> Document:
        """The configuration with these values. What is as before stays as it is written."""
        changed = deepcopy(self._document)
        complete = {**self.base, **values}
        for profile, space in zip(profiles_of(changed), self._profiles, strict=True):
            space.apply(profile, complete)
        return changed


class _ProfileSpace:
    def __init__(
        self, prefix: str, profile: Profile, weights: Mapping[str, int], resources: Sequence[str]
    ) -> None:
        self._weights = {
            plugin: Number(
                f"{prefix}{plugin}.weight",
                low=1 if plugin in _SPEAK_FOR_PODS else 0,
                high=max(HIGHEST_WEIGHT, weight),
                base=weight,
            )
            for plugin, weight in weights.items()
            if plugin not in _SAME_EVERYWHERE
        }
        self._args: list[PluginArguments] = [
            kind(f"{prefix}{plugin}", profile.args_of(plugin), resources)
            for plugin, kind in SEARCHED_ARGS.items()
            if plugin in weights
        ]

    def parameters(self) -> Iterator[Parameter]:
        yield from self._weights.values()
        for args in self._args:
            yield from args.parameters

    def apply(self, profile: Document, values: Values) -> None:
        for plugin, parameter in self._weights.items():
            if values[parameter.name] != parameter.base:
                set_weight(profile, plugin, int(values[parameter.name]))
        for args in self._args:
            if any(values[parameter.name] != parameter.base for parameter in args.parameters):
                args.apply(profile, values)
