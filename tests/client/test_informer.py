"""What an informer tells, whatever happens to its watches."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias

import pytest

from moorage.api.decoding import from_document
from moorage.api.pods import Pod
from moorage.client.errors import ApiError, Gone, InternalError, NotFound, TimedOut, Unreachable
from moorage.client.http import Listing
from moorage.client.informer import ITEMS_AT_ONCE, Informer
from moorage.client.resources import Resource
from moorage.client.watching import Change

PODS = Resource.of(Pod)

WatchSteps: TypeAlias = Sequence[Change[Pod] | Exception | float]


def pod(name: str, version: int, uid: str = "") -> Pod:
    meta = {"namespace": "ns", "name": name, "resourceVersion": str(version), "uid": uid or f"uid-{name}"}
    return from_document(Pod, {"metadata": meta})


def listing(version: int, *pods: Pod) -> Listing[Pod]:
    return Listing(list(pods), str(version))


def change(type: Any, item: Pod) -> Change[Pod]:
    return Change(type, item, item.metadata.resource_version, item.key)


def bookmark(version: int) -> Change[Pod]:
    return Change("BOOKMARK", None, str(version))


class Script:
    """A client that answers lists and watches in the order given.

    A watch is a list of changes, errors, and seconds in which nothing comes.
    """

    def __init__(self, *steps: Listing[Pod] | WatchSteps | Exception) -> None:
        self.steps = list(steps)
        self.asked: list[str] = []
        self.seconds: list[int] = []
        self.over = asyncio.Event()
        self.now = 0.0

    async def list(self, resource: Resource[Any], *, field_selector: str = "", **_: Any) -> Listing[Any]:
        self.asked.append(f"list {field_selector}".strip())
        step = await self._next()
        assert isinstance(step, Listing)
        return step

    async def watch(
        self,
        resource: Resource[Any],
        *,
        resource_version: str,
        field_selector: str = "",
        timeout_seconds: int = 0,
        heard: Callable[[], object] = lambda: None,
    ) -> AsyncGenerator[Change[Any], None]:
        self.asked.append(f"watch {resource_version} {field_selector}".strip())
        self.seconds.append(timeout_seconds)
        step = await self._next()
        assert not isinstance(step, Listing)
        heard()
        for each in step:
            if isinstance(each, Exception):
                raise each
            if isinstance(each, float):
                self.now += each
            else:
                yield each

    async def _next(self) -> Listing[Pod] | WatchSteps:
        if not self.steps:
            self.asked.pop()
            self.over.set()
            await asyncio.sleep(3600)
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step


class Watched:
    """An informer that has run to the end of a script, and what it told."""

    def __init__(
        self, script: Script, *, random: float = 0.0, field_selector: str = "", fail: bool = False
    ) -> None:
        self.script = script
        self.told: list[str] = []
        self.sleeps: list[float] = []
        self.fail = fail
        self.informer = Informer(
            script,
            PODS,
            added=lambda new: self.tell(f"+{new.name}@{new.metadata.resource_version}"),
            updated=lambda old, new: self.tell(
                f"{old.name}@{old.metadata.resource_version}>{new.metadata.resource_version}"
            ),
            deleted=lambda old: self.tell(f"-{old.name}@{old.metadata.resource_version}"),
            field_selector=field_selector,
            sleep=self.sleep,
            random=lambda: random,
            clock=lambda: self.script.now,
        )
        asyncio.run(self.run())

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(round(seconds, 3))

    def tell(self, text: str) -> None:
        self.told.append(text)
        if self.fail:
            raise ValueError("callback")

    async def run(self) -> None:
        running = asyncio.create_task(self.informer.run())
        await asyncio.wait_for(self.script.over.wait(), 10)
        if self.informer.synced:
            await self.informer.wait_synced()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running


def test_list_then_watch() -> None:
    changes: WatchSteps = [
        change("ADDED", pod("b", 6)),
        change("MODIFIED", pod("a", 7)),
        change("DELETED", pod("b", 8)),
        bookmark(20),
    ]
    watched = Watched(Script(listing(5, pod("a", 1)), changes, []), field_selector="x=y")
    assert watched.told == ["+a@1", "+b@6", "a@1>7", "-b@8"]
    assert watched.script.asked == ["list x=y", "watch 5 x=y", "watch 20 x=y"]
    informer = watched.informer
    assert informer.synced and informer.last_error is None
    assert [item.name for item in informer.by_key.values()] == ["a"] and len(informer.by_key) == 1
    found = informer.by_key.get("ns/a")
    assert found is not None and found.metadata.resource_version == "7"
    assert informer.by_key.get("ns/b") is None


def test_normal_end_is_resumed_at_once() -> None:
    watched = Watched(Script(listing(5), [bookmark(6)], [bookmark(7)], [bookmark(8)]), random=0.5)
    assert watched.script.asked == ["list", "watch 5", "watch 6", "watch 7"]
    assert watched.sleeps == []
    assert watched.script.seconds[:3] == [19, 19, 19]


@pytest.mark.parametrize(("random", "seconds"), [(0.0, 20), (0.999, 18)])
def test_length_of_watches(random: float, seconds: int) -> None:
    watched = Watched(Script(listing(5), [bookmark(6)]), random=random)
    assert watched.script.seconds[0] == seconds


def test_a_watch_that_lasts_and_has_nothing_to_say_is_resumed_at_once() -> None:
    watched = Watched(Script(listing(5), [20.0], [20.0], [0.5], [bookmark(6)]))
    assert watched.script.asked == ["list", "watch 5", "watch 5", "watch 5", "watch 5"]
    assert watched.sleeps == [0.8]


def test_silence_is_the_time_since_the_server_said_anything() -> None:
    assert Watched(Script(listing(5), [20.0])).informer.silence == 20.0
    assert Watched(Script(listing(5), [20.0], [])).informer.silence == 0.0
    assert Watched(Script(listing(5), [20.0], TimedOut(0, "", "nothing"))).informer.silence == 20.0


def test_new_list_after_gone_finds_what_was_missed() -> None:
    before = listing(5, pod("same", 1), pod("changed", 2), pod("removed", 3), pod("replaced", 4))
    after = listing(50, pod("same", 1), pod("changed", 40), pod("replaced", 41, uid="other"), pod("new", 42))
    watched = Watched(Script(before, [bookmark(6), Gone(410, "Expired", "too old")], after, [bookmark(51)]))
    assert watched.told[4:] == ["-removed@3", "changed@2>40", "-replaced@4", "+replaced@41", "+new@42"]
    assert watched.script.asked == ["list", "watch 5", "list", "watch 50"]
    assert watched.sleeps == []
    assert watched.informer.last_error is None
    assert len(watched.informer.by_key) == 4


def test_what_a_new_list_shows_unchanged_is_not_held_twice() -> None:
    """Those who were told of an object hold it, too: another one for the informer would be a second copy."""
    first, changed = pod("a", 1), pod("b", 2)
    gone = [Gone(410, "Expired", "too old")]
    script = Script(listing(5, first, changed), gone, listing(9, pod("a", 1), pod("b", 7)), [])
    watched = Watched(script)
    assert watched.told == ["+a@1", "+b@2", "b@2>7"]
    assert watched.informer.by_key["ns/a"] is first


def test_gone_without_having_heard_anything_is_not_hurried() -> None:
    gone = Gone(410, "Expired", "too old")
    watched = Watched(Script(listing(5), [gone], listing(6), [gone], listing(7), [bookmark(8)]))
    assert watched.script.asked == ["list", "watch 5", "list", "watch 6", "list", "watch 7"]
    assert watched.sleeps == [0.8, 1.6]


def test_replaced_object_in_a_watch() -> None:
    watched = Watched(Script(listing(5, pod("a", 1)), [change("MODIFIED", pod("a", 6, uid="other"))]))
    assert watched.told == ["+a@1", "-a@1", "+a@6"]


def test_known_and_unknown_objects_in_a_watch() -> None:
    changes: WatchSteps = [
        change("ADDED", pod("a", 6)),
        change("MODIFIED", pod("b", 7)),
        change("DELETED", pod("c", 8)),
    ]
    watched = Watched(Script(listing(5, pod("a", 1)), changes))
    assert watched.told == ["+a@1", "a@1>6", "+b@7"]


def test_object_that_cannot_be_decoded_is_still_deleted() -> None:
    changes: WatchSteps = [
        Change("MODIFIED", None, "6", "ns/a"),
        Change("DELETED", None, "7", "ns/a"),
    ]
    watched = Watched(Script(listing(5, pod("a", 1)), changes, []))
    assert watched.told == ["+a@1", "-a@1"]
    assert watched.script.asked[-1] == "watch 7"


def test_backoff_doubles_up_to_a_limit_and_starts_anew_after_a_healthy_watch() -> None:
    refused = Unreachable(0, "", "refused")
    watched = Watched(
        Script(*[refused] * 7, listing(5), [refused], [bookmark(6), refused], [refused]), random=0.5
    )
    delays = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
    assert watched.sleeps == [round(1.5 * each, 3) for each in (*delays, 30.0, 0.8, 1.6)]
    assert watched.script.asked == ["list"] * 8 + ["watch 5", "watch 5", "watch 6"]
    assert watched.informer.last_error is refused


def test_what_is_not_served_yet_is_asked_for_every_few_seconds() -> None:
    missing = NotFound(404, "NotFound", "the server could not find the requested resource")
    watched = Watched(Script(*[missing] * 6, listing(1)))
    assert watched.sleeps == [0.8, 1.6, 3.2, 3.2, 3.2, 3.2]


def test_watch_that_ends_at_once_is_not_hurried() -> None:
    watched = Watched(Script(listing(5), [], [], [bookmark(6)], []))
    assert watched.sleeps == [0.8, 1.6, 0.8]
    assert watched.script.asked == ["list", "watch 5", "watch 5", "watch 5", "watch 6"]


def test_errors_of_all_kinds_are_survived(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        watched = Watched(
            Script(
                ApiError(403, "Forbidden", "no"),
                ValueError("bug"),
                listing(5),
                [InternalError(500, "", "oops")],
            )
        )
    assert watched.informer.synced
    assert "pods: no" in caplog.text and "pods: unexpected error" in caplog.text and "oops" in caplog.text


def test_callback_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    changes: WatchSteps = [change("MODIFIED", pod("a", 6)), change("DELETED", pod("a", 7))]
    watched = Watched(Script(listing(5, pod("a", 1)), changes), fail=True)
    assert watched.told == ["+a@1", "a@1>6", "-a@7"]
    assert caplog.text.count("a callback failed for ns/a") == 3


def test_not_synced_before_the_first_list() -> None:
    watched = Watched(Script(Unreachable(0, "", "refused")))
    assert not watched.informer.synced


def test_a_wait_after_failures_ends_when_another_sees_the_server_again() -> None:
    script = Script(Unreachable(0, "", "away"), listing(5), [bookmark(6)])
    told: list[str] = []

    async def main() -> None:
        waiting = asyncio.Event()

        async def for_ever(seconds: float) -> None:
            waiting.set()
            await asyncio.sleep(3600)

        informer = Informer(
            script,
            PODS,
            added=lambda new: None,
            updated=lambda old, new: None,
            deleted=lambda old: None,
            sleep=for_ever,
            recovered=lambda: told.append("recovered"),
        )
        running = asyncio.create_task(informer.run())
        await asyncio.wait_for(waiting.wait(), 10)
        informer.retry_now()
        await asyncio.wait_for(informer.wait_synced(), 10)
        running.cancel()

    asyncio.run(main())
    assert told == ["recovered"]


def test_others_have_their_turn_while_the_first_list_is_taken_in() -> None:
    """The health of a process that reads half a million pods is asked for meanwhile."""
    many = [pod(f"p{number}", 1) for number in range(3 * ITEMS_AT_ONCE)]
    script = Script(listing(5, *many), [Gone(410, "Expired", "too old")], listing(9, *many[1:]), [])
    known_at_turns: list[int] = []

    async def main() -> None:
        informer = Informer(
            script,
            PODS,
            added=lambda new: None,
            updated=lambda old, new: None,
            deleted=lambda old: None,
            sleep=lambda seconds: asyncio.sleep(0),
        )
        running = asyncio.create_task(informer.run())
        while not informer.synced:
            known_at_turns.append(len(informer.by_key))
            await asyncio.sleep(0)
        await asyncio.wait_for(script.over.wait(), 10)
        running.cancel()
        assert len(informer.by_key) == len(many) - 1

    asyncio.run(main())
    assert {ITEMS_AT_ONCE, 2 * ITEMS_AT_ONCE} <= set(known_at_turns)
