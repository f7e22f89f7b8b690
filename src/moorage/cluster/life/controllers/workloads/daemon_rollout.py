"""Which pods of a DaemonSet an update may replace now."""

from __future__ import annotations

from heapq import nsmallest
from typing import NamedTuple

from moorage.cluster.base.store import Stored
from moorage.cluster.life.controllers.objects import Groups
from moorage.cluster.life.controllers.workloads.daemon_nodes import Stand
from moorage.cluster.life.controllers.workloads.rollout_sizes import scaled


class Step(NamedTuple):
    clear: list[str]
    """Nodes whose old pod goes."""
    fill: list[str]
    """Nodes that get a new pod beside the old one."""


def next_step(daemon_set: Stored, stands: Groups[Stand, str], desired: int) -> Step:
    rolling = (daemon_set.spec.get("updateStrategy") or {}).get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", 0), desired, up=True)
    unavailable = scaled(rolling.get("maxUnavailable", 1), desired, up=True)
    if surge:
        return _surging(stands, surge, desired)
    return _replacing(stands, unavailable or int(desired > 0))


def _replacing(stands: Groups[Stand, str], most: int) -> Step:
    """Old pods that serve nobody go at once, and others as far as few enough nodes are without a pod."""
    missing = 0
    outdated: list[str] = []
    idle: list[str] = []
    for stand, nodes in stands.items():
        has_one = stand.is_clear and (stand.old is None) != (stand.new is None)
        if has_one and stand.old:
            outdated += nodes
        elif has_one and stand.new:
            continue
        else:
            missing += len(nodes)
            if has_one and stand.old is False:
                idle += nodes
    return Step(sorted(idle) + nsmallest(max(most - missing, 0), outdated), [])


def _surging(stands: Groups[Stand, str], most: int, desired: int) -> Step:
    """New pods come beside old ones, which go once the new ones are available."""
    clear: list[str] = []
    fill: list[str] = []
    leaving: list[str] = []
    candidates: list[str] = []
    surging = available = 0
    for stand, nodes in stands.items():
        if not stand.is_clear:
            surging += len(nodes)
            continue
        serving = stand.new if stand.old is None else stand.old
        available += len(nodes) if serving else 0
        if stand.old is None:
            continue
        if stand.new is not None:
            if stand.new:
                clear += nodes
            else:
                surging += len(nodes)
        elif not stand.old:
            (fill if stand.runs else clear).extend(nodes)
        else:
            (candidates if stand.runs else leaving).extend(nodes)
    clear += nsmallest(max(available - desired, 0), leaving)
    return Step(sorted(clear), sorted(fill) + nsmallest(max(most - surging, 0), candidates))
