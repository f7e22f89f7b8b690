import math
from typing import Annotated

import aiohttp
import msgspec

from moorage import CycleState, Handle, NodeInfo, Pod, ScorePlugin, every

Positive = Annotated[float, msgspec.Meta(gt=0)]

UNKNOWN = 50
"""The score of nodes whose load is not known; where that are all, this plugin takes no part."""


class LiveLoadArgs(msgspec.Struct, rename="camel"):
    url: str
    """Answers with the load of each node, from 0 to 1: `{"node-1": 0.9}`."""
    period_seconds: Positive = 10.0
    timeout_seconds: Positive = 2.0
    stale_seconds: Positive = 60.0


class LiveLoad(ScorePlugin):
    """Prefers nodes that are idle, by what a metrics service measures."""

    args_type = LiveLoadArgs
    args: LiveLoadArgs

    def __init__(self, args: LiveLoadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.loads: dict[str, float] = {}
        self.fetched_at = -math.inf

    @every(lambda plugin: plugin.args.period_seconds)
    async def refresh(self) -> None:
        """Fetches the loads while pods are scheduled; what it raises is logged, and it is tried again."""
        time_out = aiohttp.ClientTimeout(total=self.args.timeout_seconds)
        async with (
            aiohttp.ClientSession(timeout=time_out, raise_for_status=True) as session,
            session.get(self.args.url) as answer,
        ):
            self.loads = msgspec.json.decode(await answer.read(), type=dict[str, float])
        self.fetched_at = self.handle.clock()

    def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
        is_fresh = self.handle.clock() - self.fetched_at <= self.args.stale_seconds
        load = self.loads.get(node.name) if is_fresh else None
        return UNKNOWN if load is None else round(100 * (1 - min(max(load, 0.0), 1.0)))
