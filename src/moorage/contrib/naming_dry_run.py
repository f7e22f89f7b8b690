"""A dry run of preemption that says by name where nobody could go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.status import Status
from moorage.plugins.preemption.dry_run import DryRun
from moorage.state.node_info import NodeInfo

MOST_NAMED = 10
"""A message may be about thousands of nodes: what it says of the others, it says of all at once."""


class NamingDryRun(DryRun):
    """Tries nodes for one pod; the first ones that have no victims are named in the message."""

    _named = 0

    def tell_without_victims(self, rows: NDArray[np.intp], statuses: NodeStatuses) -> None:
        named, others = rows[:MOST_NAMED], rows[MOST_NAMED:]
        for row in named.tolist():
            statuses.set_row(row, self.no_victims(self._handle.state.table.infos[row]))
        super().tell_without_victims(others, statuses)

    def no_victims(self, node: NodeInfo) -> Status:
        self._named += 1
        if self._named > MOST_NAMED:
            return super().no_victims(node)
        return Status.unresolvable(f"No victims found on node {node.name} for preemptor pod {self._pod.name}")
