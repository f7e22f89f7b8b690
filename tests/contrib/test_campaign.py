"""Work that goes on with the lease, ends with it and begins again."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from moorage.process.campaign import BETWEEN_ELECTIONS, Campaign, OnLost
from moorage.process.leader_election import ElectionEnded
from tests import fake_time


class Elector:
    """Leads after a second, unless it is to fail."""

    def __init__(self, number: int, on_lost: OnLost, notes: list[str], fails: bool) -> None:
        self.number = number
        self.lose = on_lost
        self._notes = notes
        self._fails = fails
        self._leads = False

    def start(self) -> None:
        self._notes.append(f"elector {self.number} started")

    async def wait_until_leading(self) -> None:
        await asyncio.sleep(1)
        if self._fails:
            raise ElectionEnded("it was not to be")
        self._leads = True

    def may_act(self) -> bool:
        return self._leads

    async def stop(self) -> None:
        self._leads = False
        self._notes.append(f"elector {self.number} stopped")


class Play:
    def __init__(self, failing_elections: int = 0, failing_works: int = 0) -> None:
        self.notes: list[str] = []
        self.electors: list[Elector] = []
        self._failing_elections = failing_elections
        self._failing_works = failing_works
        self.campaign = Campaign(self._new_elector)

    def _new_elector(self, on_lost: OnLost) -> Any:
        number = len(self.electors) + 1
        self.electors.append(Elector(number, on_lost, self.notes, number <= self._failing_elections))
        return self.electors[-1]

    async def work(self) -> None:
        self.notes.append("works")
        if self._failing_works:
            self._failing_works -= 1
            raise ExceptionGroup("all at once", [ValueError("a mistake")])
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.5)
            self.notes.append("has ended")


def test_who_leads_works_and_the_lease_is_released_last() -> None:
    play = Play()

    async def main() -> None:
        running = asyncio.create_task(play.campaign.run(play.work))
        assert not play.campaign.may_act()
        await asyncio.sleep(10)
        assert play.campaign.may_act()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert not play.campaign.may_act()

    fake_time.run(main())
    assert play.notes == ["elector 1 started", "works", "has ended", "elector 1 stopped"]


def test_who_loses_the_lease_stops_and_tries_for_it_again() -> None:
    play = Play()

    async def main() -> None:
        running = asyncio.create_task(play.campaign.run(play.work))
        await asyncio.sleep(10)
        elsewhere = threading.Thread(target=play.electors[0].lose)
        elsewhere.start()
        elsewhere.join()
        await asyncio.sleep(2)
        assert play.notes[-1] == "elector 1 stopped"
        assert not play.campaign.may_act()
        await asyncio.sleep(BETWEEN_ELECTIONS + 2)
        assert play.campaign.may_act()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    fake_time.run(main())
    turn = ["works", "has ended"]
    first, second = ([f"elector {number} started", *turn, f"elector {number} stopped"] for number in (1, 2))
    assert play.notes == [*first, *second]


def test_neither_a_failed_election_nor_failed_work_is_the_end() -> None:
    play = Play(failing_elections=1, failing_works=1)

    async def main() -> None:
        running = asyncio.create_task(play.campaign.run(play.work))
        await asyncio.sleep(60)
        assert play.campaign.may_act()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    fake_time.run(main())
    assert [note for note in play.notes if not note.startswith("elector")] == ["works", "works", "has ended"]
    assert len(play.electors) == 3
