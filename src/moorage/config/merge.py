"""The user's plugin lists laid over the defaults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from moorage.config.types import PluginRef, PluginSet


def merge(defaults: Sequence[PluginRef], custom: PluginSet) -> PluginSet:
    """The effective set of one point.

    A default that the user enables too is replaced where it stands, weight included, unless it is also
    disabled; what remains of the user's list follows in its order. A repeated name is kept: it is
    refused when the lists are expanded.
    """
    # Of a repeated name the last entry takes the default's place.
    own = {ref.name: i for i, ref in enumerate(custom.enabled)}
    kept = [] if custom.disables("*") else [ref for ref in defaults if not custom.disables(ref.name)]
    used = {own[ref.name] for ref in kept if ref.name in own}
    enabled = [custom.enabled[own[ref.name]] if ref.name in own else ref for ref in kept]
    enabled += [ref for i, ref in enumerate(custom.enabled) if i not in used]
    return PluginSet(enabled=copies(enabled), disabled=[PluginRef(name=ref.name) for ref in custom.disabled])


def copies(refs: Iterable[PluginRef]) -> list[PluginRef]:
    return [PluginRef(name=ref.name, weight=ref.weight) for ref in refs]
