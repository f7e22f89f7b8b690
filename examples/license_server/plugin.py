from http import HTTPStatus
from typing import Annotated

import aiohttp
import msgspec

from moorage import CycleState, Pod, PreBindPlugin, Status

PRODUCT = "example.com/license"
"""The annotation by which a pod asks for a seat; its value names the product."""


class LicenseServerArgs(msgspec.Struct, rename="camel"):
    url: str
    timeout_seconds: Annotated[float, msgspec.Meta(gt=0)] = 2.0


class LicenseServer(PreBindPlugin):
    """Takes a seat from a license server before a pod is bound.

    A seat belongs to a pod's UID, so that asking again, after a lost answer or a failed bind, takes no second
    one; the server frees it when the program does not check in.
    """

    args_type = LicenseServerArgs
    args: LicenseServerArgs

    def pre_bind_pre_flight(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        return None if PRODUCT in pod.annotations else Status.skip()

    async def pre_bind(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | None:
        """Other pods are scheduled while this one waits for the answer."""
        product = pod.annotations[PRODUCT]
        try:
            answer = await self._ask_for_seat(product, pod.uid, node_name)
        except TimeoutError:
            return Status.error(f"no answer from the license server within {self.args.timeout_seconds:g} s")
        except aiohttp.ClientError as error:
            return Status.error(f"the license server cannot be asked: {error}")
        if answer == HTTPStatus.CONFLICT:
            return Status.unschedulable(f"no free seat for {product}")
        if answer not in (HTTPStatus.OK, HTTPStatus.CREATED):
            return Status.error(f"the license server answered {answer}")
        return None

    async def _ask_for_seat(self, product: str, holder: str, node_name: str) -> int:
        time_out = aiohttp.ClientTimeout(total=self.args.timeout_seconds)
        seat = {"product": product, "holder": holder, "node": node_name}
        async with (
            aiohttp.ClientSession(timeout=time_out) as session,
            session.put(f"{self.args.url}/seats/{holder}", json=seat) as answer,
        ):
            return answer.status
