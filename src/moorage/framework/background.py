"""What plugins do beside scheduling: `start`, and the methods marked with `every`."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from moorage.client.errors import Withheld
from moorage.framework.extension_points import Plugin
from moorage.framework.loading.registry import PluginLoadError
from moorage.framework.logger import Logger
from moorage.framework.plugin_errors import author_of, described
from moorage.framework.runtime.calls import FAILURES, settled
from moorage.framework.runtime.hung_calls import DidNotReturn
from moorage.framework.runtime.slow_calls import Steps, watched

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
        """From the end of one call to the beginning of the next, or a function of the plugin that says so."""

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
        clock = asyncio.get_running_loop().time
        pause, failed_at = 0.0, -math.inf
        while True:
            failure = await self._call()
            if failure is None and self.seconds is None:
                return
            # A write that another process is to do, as it leads, is no failure.
            is_withheld = isinstance(failure, Withheld)
            if self.seconds is not None and (failure is None or is_withheld):
                await asyncio.sleep(self.seconds)
                continue
            is_new = clock() - failed_at > QUIET_SECONDS
            pause = FIRST_PAUSE if is_new else min(2 * pause, LONGEST_PAUSE)
            failed_at = clock()
            if failure is not None and not is_withheld:
                self._tell(failure, pause)
            await asyncio.sleep(pause)

    async def _call(self) -> BaseException | None:
        """What it raised; waiting is fine, blocking is named."""
        try:
            answer = watched(self.profile, self.plugin, self.task, self.method)
        except FAILURES as error:
            return error
        try:
            if isinstance(answer, Awaitable):
                await settled(Steps(answer, self.profile, self.plugin, self.task))
        except (Exception, SystemExit, DidNotReturn) as error:
            return error
        return None

    def _tell(self, failure: BaseException, pause: float) -> None:
        self.profile.observer.background_failed(self.plugin.name, self.task, self.profile.name)
        author = author_of(type(self.plugin))
        self.profile.services.plugin_errors.note(failure, self.plugin.name, author, self.task)
        why = described(failure, author)
        log.error(why, "Background work of a plugin failed; it is tried again", **self.fields, seconds=pause)


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
            if problem := _wrong_period(seconds):
                problem += _place(inspect.getattr_static(plugin, name))
        except FAILURES as error:
            problem = described(error)
        if problem:
            raise PluginLoadError(f'initializing plugin "{plugin.name}": @every on {name}: {problem}')
        yield _Job(profile, plugin, name, getattr(plugin, name), float(seconds))


def background_mistakes(plugin: type[Plugin]) -> Iterator[str]:
    """What keeps a class's background work from being called: why, what to do about it, and where."""
    for name in dir(plugin):
        found = inspect.getattr_static(plugin, name, None)
        mark = getattr(found, _MARK, None)
        if isinstance(found, every):
            # Written without seconds, it has taken the method for them.
            yield f"has @every on {name} without seconds; write @every(10){_place(found.seconds)}"
        elif isinstance(mark, every) and not callable(mark.seconds) and (why := _wrong_period(mark.seconds)):
            yield f"has @every on {name}: {why}; write @every(10){_place(found)}"
        elif isinstance(mark, every) and (why := _wrong_call(plugin, name, found)):
            yield f"has the method {name}, which {why}{_place(found)}"


def _marked(plugin: type[Plugin]) -> Iterator[tuple[str, every]]:
    for name in dir(plugin):
        mark = getattr(inspect.getattr_static(plugin, name, None), _MARK, None)
        if isinstance(mark, every):
            yield name, mark


def _wrong_period(seconds: object) -> str | None:
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if is_number and seconds > 0 and math.isfinite(seconds):  # type: ignore[operator, arg-type]
        return None
    return f"{seconds!r:.80} is no number of seconds above 0"


def _wrong_call(plugin: type[Plugin], name: str, found: Any) -> str | None:
    """Why a method cannot be called without arguments, and what to do about it."""
    try:
        parameters = inspect.signature(found.__get__(object.__new__(plugin), plugin)).parameters.values()
    except (AttributeError, TypeError):
        return None  # not written in Python
    except ValueError:
        return f"is called on the plugin and has no self; write def {name}(self)"
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [each.name for each in parameters if each.default is each.empty and each.kind not in optional]
    if needed:
        return f"is called without arguments and needs {', '.join(needed)}; drop it or give it a default"
    code = inspect.unwrap(getattr(found, "__func__", found))
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        return "is called and not looped over; write it without yield"
    return None


def _place(method: Any) -> str:
    code = getattr(inspect.unwrap(getattr(method, "__func__", method)), "__code__", None)
    return "" if code is None else f" ({Path(code.co_filename).name}:{code.co_firstlineno})"
