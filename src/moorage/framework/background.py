"""What plugins do beside scheduling: `start`, and the methods marked with `every`."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from moorage.client.errors import Withheld
from moorage.framework.extension_points import Plugin
from moorage.framework.logger import Logger
from moorage.framework.registry import PluginLoadError, described
from moorage.framework.runtime.calls import FAILURES, Question, ask_and_wait
from moorage.framework.status import Status

if TYPE_CHECKING:
    from moorage.framework.runtime.profile import Profile

Method = TypeVar("Method", bound=Callable[..., object])

log = Logger(__name__)

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
QUIET_SECONDS = 120.0
"""After so long without a failure, the pauses begin anew."""
SECONDS_TO_STOP = 2.0

_MARK = "_moorage_every"


class every:  # noqa: N801 - it is written as a decorator
    """Has a method of a plugin called again and again while the scheduler runs: `@every(10)`.

        class LiveLoad(ScorePlugin):
            @every(10)
            async def refresh(self) -> None:
                self.loads = await fetch_loads()

    The first call comes when the scheduler knows the cluster, before the first pod; each further one so many
    seconds after the one before has ended, so that it never overlaps itself. The method may be `def` or
    `async def`; use the latter for whatever waits, as nothing else happens while a `def` runs. What it raises
    is logged and counted, and it is called again after a pause that grows from 1 to 30 seconds.

    `seconds` may also be a function of the plugin: `@every(lambda plugin: plugin.args.seconds)`.
    """

    def __init__(self, seconds: float | Callable[[Any], float]) -> None:
        self.seconds = seconds

    def __call__(self, method: Method) -> Method:
        setattr(method, _MARK, self)
        return method


class Background:
    """The background work of all plugins of these profiles, from `start` to `stop`.

    Raises PluginLoadError if a plugin cannot say how often a method is to be called.
    """

    def __init__(self, profiles: Iterable[Profile]) -> None:
        self._jobs = [
            job
            for profile in profiles
            for plugin in profile.plugins.values()
            for job in _jobs_of(profile, plugin)
        ]
        self._running: dict[asyncio.Task[None], tuple[_Job, _Cuttable]] = {}
        self._may_start = True

    def start(self) -> None:
        """Begins with all of it; a second call does nothing."""
        if not self._may_start:
            return
        self._may_start = False
        for job in self._jobs:
            work = _Cuttable(job.run())
            self._running[asyncio.ensure_future(work)] = job, work

    async def stop(self, seconds: float = SECONDS_TO_STOP) -> None:
        """Cancels all of it; what has not ended after so many seconds is not gone on with."""
        self._may_start = False
        running, self._running = self._running, {}
        for task in running:
            task.cancel()
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=seconds)
        for task in late:
            job, work = running[task]
            log.warning("Background work of a plugin does not end when it is cancelled", **job.fields)
            work.is_cut = True
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Job(NamedTuple):
    """One method of one plugin; `seconds` is None for one that is called once."""

    profile: Profile
    plugin: Plugin
    task: str
    method: Callable[[], object]
    seconds: float | None

    @property
    def fields(self) -> dict[str, str]:
        return {"plugin": self.plugin.name, "task": self.task, "profile": self.profile.name}

    async def run(self) -> None:
        question = Question(self.task, lambda answer: None)
        clock = asyncio.get_running_loop().time
        pause, failed_at = 0.0, -math.inf
        while True:
            answer = await ask_and_wait(question, self.profile, self.plugin, False, self.method)
            if answer is None and self.seconds is None:
                return
            if answer is None or (_is_withheld(answer) and self.seconds is not None):
                await asyncio.sleep(self.seconds or 0.0)
                continue
            is_new = clock() - failed_at > QUIET_SECONDS
            pause = FIRST_PAUSE if is_new else min(2 * pause, LONGEST_PAUSE)
            failed_at = clock()
            self._tell(answer, pause)
            await asyncio.sleep(pause)

    def _tell(self, failure: Status, pause: float) -> None:
        if _is_withheld(failure):
            return
        self.profile.observer.background_failed(self.plugin.name, self.task, self.profile.name)
        why = failure.message if failure.cause is None else described(failure.cause)
        log.error(why, "Background work of a plugin failed; it is tried again", **self.fields, seconds=pause)


def _is_withheld(answer: Status) -> bool:
    """Whether it tried to write while another process leads; that is for the leader to do."""
    return isinstance(answer.cause, Withheld)


class _Cuttable:
    """Work of which nothing more is run once it was cut, even if it refuses to be cancelled."""

    _left_behind: list[Any] = []
    """Kept, as the end of what is dropped would be one more turn of it."""

    def __init__(self, work: Coroutine[Any, Any, None]) -> None:
        self._work = work
        self.is_cut = False

    def __await__(self) -> Generator[Any, Any, None]:
        thrown: BaseException | None = None
        while True:
            try:
                waiting_for = self._work.send(None) if thrown is None else self._work.throw(thrown)
            except StopIteration:
                return
            try:
                yield waiting_for
                thrown = None
            except BaseException as error:
                if self.is_cut:
                    self._left_behind.append(self._work)
                    raise
                thrown = error


# What a plugin's class says


def _jobs_of(profile: Profile, plugin: Plugin) -> Iterator[_Job]:
    if type(plugin).start is not Plugin.start:
        yield _Job(profile, plugin, "start", plugin.start, None)
    for name, mark in _marked(type(plugin)):
        try:
            seconds = mark.seconds(plugin) if callable(mark.seconds) else mark.seconds
            problem = _period_problem(seconds)
        except FAILURES as error:
            problem = described(error)
        if problem:
            place = _place(inspect.getattr_static(plugin, name))
            raise PluginLoadError(f'initializing plugin "{plugin.name}": {name}: every: {problem}{place}')
        yield _Job(profile, plugin, name, getattr(plugin, name), float(seconds))


def problem_of(plugin: type[Plugin]) -> str | None:
    """What keeps a class's background work from being called: the method, why, where, and what to do."""
    for name in dir(plugin):
        found = inspect.getattr_static(plugin, name)
        mark = found if isinstance(found, every) else getattr(found, _MARK, None)
        if mark is None and (name != "start" or plugin.start is Plugin.start):
            continue
        if isinstance(found, every):
            problem, remedy = "every: it does not say how often", "write @every(10)"
            found = found.seconds
        elif isinstance(mark, every) and not callable(mark.seconds) and _period_problem(mark.seconds):
            problem, remedy = f"every: {_period_problem(mark.seconds)}", "write @every(10)"
        elif called := _call_problem(plugin, name, found):
            problem, remedy = called
        else:
            continue
        return f"{name}: {problem}{_place(found)}; {remedy}"
    return None


def _marked(plugin: type[Plugin]) -> Iterator[tuple[str, every]]:
    for name in dir(plugin):
        mark = getattr(inspect.getattr_static(plugin, name), _MARK, None)
        if isinstance(mark, every):
            yield name, mark


def _period_problem(seconds: object) -> str | None:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and seconds > 0 and math.isfinite(seconds):  # type: ignore[operator, arg-type]
        return None
    return f"{seconds!r:.80} is no number of seconds above 0"


def _call_problem(plugin: type[Plugin], name: str, found: Any) -> tuple[str, str] | None:
    """Why a method cannot be called without arguments, and what to do about it."""
    try:
        parameters = inspect.signature(found.__get__(object.__new__(plugin), plugin)).parameters.values()
    except (AttributeError, TypeError):
        return None  # not written in Python
    except ValueError:
        return "is called on the plugin, and has no self", f"write def {name}(self)"
    needed = [
        each.name
        for each in parameters
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if needed:
        needs = ", ".join(needed)
        return f"is called without arguments, and needs {needs}", "drop it or give it a default"
    code = inspect.unwrap(getattr(found, "__func__", found))
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        return "is called, not looped over", "write it without yield"
    return None


def _place(method: Any) -> str:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"
