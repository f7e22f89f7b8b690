"""The cluster that a command tries things on: manifests, or one that runs, with the scheduler it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from moorage.cli.insight.options import Whom, scheduler_options
from moorage.cli.setup import (
    BadInput,
    Setup,
    config_option,
    limit_in_seconds,
    plugin_option,
    set_up,
    strict_version_option,
    verbose_option,
    with_option,
)

if TYPE_CHECKING:
    from moorage.api.meta import Object
    from moorage.what_if.capacity.effort import Effort
    from moorage.what_if.capacity.world import Given

Command = TypeVar("Command", bound=Callable[..., Any])

_DECIDES = ("filter", "score")

timeout_option = click.option(
    "--timeout",
    "seconds",
    default="60s",
    show_default=True,
    metavar="DURATION",
    callback=limit_in_seconds,
    help="Search for the best no longer than this; 0 searches to the end.",
)


class Asked(NamedTuple):
    """The options that say which cluster and which scheduler are meant."""

    whom: Whom
    config_file: str | None
    strict_config_version: bool
    plugins: tuple[str, ...]
    features: tuple[str, ...]

    def set_up(self) -> Setup:
        return set_up(
            self.config_file,
            self.plugins,
            features=self.features,
            strict_version=self.strict_config_version,
        )


def source_options(command: Command) -> Command:
    """Adds the options of `Asked`, and --verbose."""
    for decorate in (
        verbose_option,
        with_option,
        plugin_option,
        strict_version_option,
        config_option,
        scheduler_options,
    ):
        command = decorate(command)
    return command


def asked(options: dict[str, Any]) -> Asked:
    """Takes the options of `Asked` out of all that a command was given."""
    from moorage.cli.insight.options import whom

    return Asked(whom(options), **{name: options.pop(name) for name in Asked._fields[1:]})


def read_given(manifests: Sequence[str], options: Asked) -> tuple[Given, str]:
    """The cluster, and what messages call it; raises BadInput."""
    from moorage.api.devices import ResourceClaimTemplate
    from moorage.what_if.capacity.world import Given

    if manifests:
        if options.whom.given:
            raise click.UsageError(
                f"Ask one: manifests and {' and '.join(options.whom.given)} do not go together."
            )
        setup = options.set_up()
        return Given(_read(manifests), setup.config, setup.registry), ", ".join(manifests)
    from moorage.cli.insight.live_objects import read_cluster

    objects, server = read_cluster(options.whom.kubeconfig, also=[ResourceClaimTemplate])
    setup = _setup_of_running(options)
    return Given(objects, setup.config, setup.registry), server


def read_objects(path: str) -> list[Object]:
    """What manifests hold of what capacity depends on."""
    from moorage.api.devices import ResourceClaimTemplate
    from moorage.cli.manifest_files import read_manifests

    return read_manifests(path, also=[ResourceClaimTemplate])


def _read(manifests: Sequence[str]) -> list[Object]:
    from moorage.cli.manifest_files import check_unique

    given = [(path, item) for path in manifests for item in read_objects(path)]
    check_unique(given)
    return [item for _, item in given]


def _setup_of_running(options: Asked) -> Setup:
    """The plugins given here, and the configuration given here or, without one, of the running scheduler."""
    from moorage.cli.insight.live_objects import kubeconfigs
    from moorage.cli.insight.scheduler_api import OF_UP, NotKnown, SchedulerApi, find

    if options.config_file is not None:
        return options.set_up()
    files = kubeconfigs(options.whom.kubeconfig)
    path = next((each for each in files if Path(each).exists()), files[0])
    if not options.whom.scheduler and not Path(f"{path}{OF_UP}").exists():
        return options.set_up()  # somebody else's cluster: what is there by default decides
    place = find(options.whom if options.whom.scheduler else options.whom._replace(kubeconfig=path))
    with SchedulerApi(place) as api:
        try:
            return _of_document(options, api.config())
        except NotKnown:
            setup = options.set_up()
            _check_same(setup, api)
            return setup


def _of_document(options: Asked, document: dict[str, Any]) -> Setup:
    import msgspec

    from moorage.cli.setup import make_registry
    from moorage.config.load import load

    registry, _ = make_registry(options.plugins)
    return Setup(registry, load(msgspec.json.encode(document), source="the scheduler's /configz").config)


def _check_same(setup: Setup, api: Any) -> None:
    """Refuses to answer for a scheduler that decides by other plugins."""
    from moorage.config.show import show_expanded

    here = {
        each["schedulerName"]: each["plugins"]
        for each in show_expanded(setup.config, setup.registry.points_of())["profiles"]
    }
    for profile in api.get("/summary")["profiles"]:
        ours = here.get(profile["name"], {})
        for point in _DECIDES:
            theirs = _names(profile["plugins"].get(point) or ())
            if theirs != _names(ours.get(point) or ()):
                other = sorted(theirs ^ _names(ours.get(point) or ()))
                raise BadInput(
                    f"{api.server}: its profile {profile['name']} has other plugins, such as {other[0]}; "
                    "give the --config, --plugin and --with that it was started with"
                )


def _names(plugins: Sequence[Any]) -> set[str]:
    return {each if isinstance(each, str) else each["name"] for each in plugins}


@contextmanager
def searching(seconds: float, what: str) -> Iterator[Effort]:
    """A search that Ctrl-C stops, so that what was found so far is told; a second one ends the command."""
    import signal
    import threading

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from moorage.what_if.capacity.effort import Effort

    console = Console(stderr=True)
    columns = (TextColumn(what), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)
        effort = Effort(
            seconds or None, tries=2000, tell=lambda text: progress.update(task, description=text)
        )

        def stop(number: int, frame: object) -> None:
            if effort.is_stopped:
                raise KeyboardInterrupt
            effort.stop()
            progress.console.print("Stopping; Ctrl-C again ends at once.", highlight=False)

        if threading.current_thread() is not threading.main_thread():
            yield effort
            return
        before = signal.signal(signal.SIGINT, stop)
        try:
            yield effort
        finally:
            signal.signal(signal.SIGINT, before)
