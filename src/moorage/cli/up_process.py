"""The process behind `moorage up`: the embedded cluster and its scheduler, started and stopped in order."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import ssl
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from moorage.api.simulated_devices import SimulatedDevices
from moorage.cli.dashboard import Dashboard, remove_old_address
from moorage.cli.decision_log import DecisionLogOptions
from moorage.cli.devices import GivenDevices, read_devices
from moorage.cli.manifest_files import read_manifests
from moorage.cli.plugin_resources import apply_definitions, kinds_of
from moorage.cli.reloading import FileWatch, files_of, forget_modules
from moorage.cli.setup import BadInput, Setup, find_features, set_up
from moorage.cli.terminal.output import Output
from moorage.cli.terminal.views import View, make_view
from moorage.client.http import HttpClient
from moorage.client.loops import LoopThread, loop_factory
from moorage.cluster.access.kubeconfig import KubeconfigError, remove, remove_old, write_kubeconfig
from moorage.cluster.base.data_file import DataFile, DataFileError
from moorage.cluster.base.errors import Refusal
from moorage.cluster.embedded import EmbeddedCluster, Identity, identity
from moorage.cluster.life.nodes import default_nodes
from moorage.cluster.life.nodes.programs import IMAGE
from moorage.config import expand_all
from moorage.config.defaults import DEFAULT_SCHEDULER_NAME
from moorage.config.feature_gates import FeatureGates
from moorage.config.problems import ConfigError
from moorage.framework.extenders.asking import make_extenders
from moorage.framework.loading.registry import PluginLoadError
from moorage.process import logs
from moorage.process.local_scheduler import LocalScheduler
from moorage.process.signals import STOPPING, Signals, exit_now, heed_interrupts
from moorage.server.tls import LOCAL_NAMES, self_signed
from moorage.version import user_agent

UP_AGENT = user_agent("moorage", "up")
DEFAULT_NODES = "3"
MOST_NODES = 20_000
ANSWER_SECONDS = 0.5
SECONDS_TO_STOP = 1.0  # for the API server, if the scheduler's thread is stuck


@dataclass(frozen=True)
class UpOptions:
    config_file: str | None
    plugins: tuple[str, ...]
    features: tuple[str, ...]
    plugin_timeout: float
    strict_config_version: bool
    nodes: str | None
    devices: tuple[str, ...]
    port: int
    address: str
    kubeconfig: Path
    scheduler: bool
    data: Path | None
    reload: bool
    dashboard_port: int | None
    """None for no dashboard."""
    decisions: DecisionLogOptions
    gates: FeatureGates
    run_images: tuple[str, ...]
    run_namespaces: tuple[str, ...]
    verbosity: int
    output: Output

    def set_up(self) -> Setup:
        """The plugins and the configuration, checked as far as that is possible without a cluster."""
        setup = set_up(
            self.config_file,
            self.plugins,
            features=self.features,
            strict_version=self.strict_config_version,
            gates=self.gates,
        )
        make_extenders(setup.config.extenders)
        expand_all(setup.config, setup.registry.points_of())
        return setup

    def files(self) -> list[Path]:
        """What `--reload` follows."""
        config = [] if self.config_file is None else [Path(self.config_file).resolve()]
        return [*files_of(self.plugins), *config]


def run_up(options: UpOptions) -> int:
    """Runs the cluster until a signal; returns the exit code."""
    started = time.monotonic()
    heed_interrupts()
    nodes = read_nodes(DEFAULT_NODES if options.nodes is None else options.nodes)
    devices = read_devices(options.devices)
    if options.reload:
        # Byte code knows only the second of its source: what is saved twice within one would stay as it was.
        sys.dont_write_bytecode = True
    setup = options.set_up() if options.scheduler else None
    logs.configure(verbosity=options.verbosity)
    try:
        data = None if options.data is None else DataFile(options.data)
    except DataFileError as error:
        raise BadInput(str(error)) from None
    if options.nodes is None and data is not None and data.holds("nodes"):
        nodes = []
    try:
        earlier = remove_old(options.kubeconfig)
        remove_old_address(options.kubeconfig)
        if _is_listening(earlier):
            click.echo(
                f"{options.kubeconfig}: was that of a cluster that still runs at {earlier}, and is now"
                " that of this one; --kubeconfig gives each its own",
                err=True,
            )
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(Up(options, setup, nodes, devices, data, started).run())
    except (DataFileError, KubeconfigError) as error:
        raise BadInput(str(error)) from None
    finally:
        if data is not None:
            data.close()


def read_nodes(text: str) -> list[dict[str, Any]]:
    """What --nodes stands for: a number, or the Node objects of a file."""
    if text.isascii() and text.isdigit():
        count = int(text)
        if count > MOST_NODES:
            raise BadInput(f"--nodes: {count} are too many; at most {MOST_NODES} are possible")
        return default_nodes(count)
    if text != "-" and not (text and Path(text).exists()):
        raise BadInput(
            f"--nodes: '{text}' is neither a number nor a file; give a number or a YAML file of Node objects"
        )
    nodes = [each for each in read_manifests(text) if each.kind == "Node"]
    if not nodes:
        raise BadInput(f"--nodes: {text} holds no Node; give a number or a YAML file of Node objects")
    for name, count in Counter(each.metadata.name for each in nodes).items():
        if count > 1:
            raise BadInput(f"--nodes: {text} holds {count} nodes named {name}; give each a name of its own")
    return [each.raw for each in nodes]


class Up:
    def __init__(
        self,
        options: UpOptions,
        setup: Setup | None,
        nodes: list[dict[str, Any]],
        devices: list[GivenDevices],
        data: DataFile | None,
        started: float,
    ) -> None:
        self._options = options
        self._setup = setup
        self._nodes = nodes
        self._devices = devices
        self._data = data
        self._started = started
        self._stopping = asyncio.Event()
        self._server = LoopThread("api-server")
        self._cluster: EmbeddedCluster | None = None
        self._scheduler: LocalScheduler | None = None
        self._dashboard: Dashboard | None = None
        self._view: View | None = None
        self._failure: PluginLoadError | None = None
        self._watched: list[Path] = []

    async def run(self) -> int:
        signals = Signals(
            lambda number: self._stopping.set(),
            hurry=self._hurry,
            last_resort=self._give_up,
            stopping=(*STOPPING, signal.SIGHUP),
        )
        signals.start()
        try:
            return await self._run()
        finally:
            signals.stop()

    async def _run(self) -> int:
        options = self._options
        # What is saved while the cluster starts counts as a change, too.
        self._watched = options.files() if options.reload else []
        watch = FileWatch(lambda: self._watched, lambda changed: self._reload(cluster, scheduler, changed))
        async with AsyncExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="moorage-up-"))
            who = identity(self._data, options.address, lambda: self_signed(_names(options.address)))
            # In a thread of its own it answers kubectl whatever the scheduler's plugins do.
            server = self._server
            server.start()
            stack.callback(server.stop)
            cluster = await server.awaited(self._start(who, folder))
            self._cluster = cluster
            stack.push_async_callback(lambda: server.awaited(cluster.stop()))
            view = make_view(cluster.store, options.output)
            decisions, log_file = options.decisions.open()
            if log_file is not None:
                stack.enter_context(log_file)
            scheduler = self._scheduler = LocalScheduler(
                cluster.scheduler_client,
                plugin_timeout=options.plugin_timeout,
                decisions=decisions,
                gates=options.gates,
            )
            nodes = await server.called(lambda: cluster.store.count("nodes"))
            if self._setup is not None and decisions is not None and options.dashboard_port is not None:
                self._dashboard = Dashboard(options.dashboard_port, options.kubeconfig)
                stack.push_async_callback(self._dashboard.stop)
            if self._setup is not None:
                options.output.doing("Starting the scheduler")
                await self._define(cluster, self._setup, click.echo)
                await scheduler.start(*self._setup, self._fail)
                stack.push_async_callback(scheduler.stop)
            # Nothing is awaited until the greeting: the scheduler, once at work, would keep it waiting.
            # What is there now stays for good: it need not be looked through again and again.
            gc.collect()
            gc.freeze()
            address = f"https://{_in_url(options.address)}:{cluster.port}"
            if self._dashboard is not None:
                stack.callback(self._dashboard.untell)
                self._dashboard.tell()
            write_kubeconfig(options.kubeconfig, server=address, ca=who.ca, token=who.admin_token)
            stack.callback(remove, options.kubeconfig, who.admin_token)
            self._greet(address, nodes)
            if self._dashboard is not None:
                self._dashboard.serve(cluster, server, lambda: scheduler.questions)
            self._view = view
            server.loop.call_soon_threadsafe(view.__enter__)
            stack.push_async_callback(lambda: server.called(self._close_view))
            if options.reload:
                watching = asyncio.create_task(watch.run())
                stack.callback(watching.cancel)
            await self._stopping.wait()
            self._say("Stopping.")
        if self._failure is not None:
            raise self._failure
        return 0

    def _fail(self, error: PluginLoadError) -> None:
        self._failure = error
        self._stopping.set()

    def _say(self, line: str) -> None:
        """Tells the user something, in any thread."""
        if self._view is not None:
            self._view.say(line)

    def _close_view(self) -> None:
        view, self._view = self._view, None
        if view is not None:
            view.__exit__(None, None, None)

    async def _start(self, who: Identity, folder: str) -> EmbeddedCluster:
        options = self._options
        cluster = EmbeddedCluster(
            who,
            data=self._data,
            folder=Path(folder),
            run_images=options.run_images,
            run_namespaces=options.run_namespaces,
            gates=[gate.name for gate in options.gates.all() if gate.enabled and gate.stage == "ALPHA"],
        )
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = Path(folder) / "apiserver.pem"
        certificate.touch(mode=0o600)
        certificate.write_bytes(cluster.who.certificate)
        tls.load_cert_chain(certificate)
        certificate.unlink()
        made = f", making {len(self._nodes)} nodes" if self._nodes else ""
        options.output.doing(f"Starting the API server{made}")
        devices = self._accepted(cluster)
        try:
            await cluster.start(options.address, options.port, tls, self._nodes, devices)
        except OSError as error:
            raise BadInput(_why_not_heard(options, error)) from None
        except Refusal as refusal:
            raise BadInput(f"--nodes: {options.nodes}: {refusal}") from None
        return cluster

    def _accepted(self, cluster: EmbeddedCluster) -> SimulatedDevices:
        accepted = []
        for place, devices in self._devices:
            try:
                accepted.append(cluster.accepted(devices))
            except Refusal as refusal:
                raise BadInput(f"{place}: {refusal}") from None
        return SimulatedDevices.together(accepted)

    async def _define(self, cluster: EmbeddedCluster, setup: Setup, say: Callable[[str], None]) -> None:
        """Has the custom resources of the plugins served, and says which are new."""
        kinds = kinds_of(setup, find_features(self._options.features))
        if not kinds:
            return
        async with HttpClient(cluster.connection(), user_agent=UP_AGENT) as http:
            applied, notes = await apply_definitions(http, kinds)
        if applied:
            say(f"Custom resources of the plugins are defined: {', '.join(applied)}")
        for note in notes:
            say(note)

    async def _reload(self, cluster: EmbeddedCluster, scheduler: LocalScheduler, changed: list[Path]) -> None:
        names = ", ".join(path.name for path in changed)
        try:
            forget_modules(self._watched)
            setup = self._options.set_up()
            await self._define(cluster, setup, self._say)
            await scheduler.replace(
                *setup,
                lambda error: self._say(f"{error}; nothing is scheduled until {names} is loaded again"),
            )
        except (ConfigError, PluginLoadError, BadInput) as error:
            # Mending any of the files, the missing ones too, may be what helps.
            self._watched = list(dict.fromkeys((*self._watched, *self._options.files())))
            why = "; ".join(str(error).splitlines())
            self._say(f"{names}: not reloaded, the old one goes on: {why}")
            return
        self._watched = self._options.files()
        self._say(f"{names}: reloaded; waiting pods are tried again")

    def _greet(self, server: str, nodes: int) -> None:
        self._options.output.doing(None)
        seconds = time.monotonic() - self._started
        kubeconfig = os.path.relpath(self._options.kubeconfig)
        if kubeconfig.startswith(".."):
            kubeconfig = str(self._options.kubeconfig)
        click.echo(f"The cluster is ready after {seconds:.1f} s: {server}, {nodes} nodes. Type:\n")
        click.echo(f"  export KUBECONFIG={kubeconfig}")
        click.echo("  kubectl get nodes")
        click.echo(f"  {self._first_pods()}")
        click.echo("  kubectl get pods -o wide")
        if self._dashboard is not None:
            click.echo(f"\nEvery decision as it is made, and why:\n\n  {self._dashboard.page}")
        if names := dict.fromkeys(self._options.run_namespaces):
            images = ", ".join(dict.fromkeys((IMAGE, *self._options.run_images)))
            click.echo(
                f"\nPods of the image {images} in {', '.join(names)} run as processes of this user"
                " (--no-processes forbids it)."
            )
        click.echo(
            "\nCtrl-C ends it." + ("" if self._options.data else " Nothing is kept (--data keeps it).")
        )
        sys.stdout.flush()

    def _first_pods(self) -> str:
        """What makes pods that get nodes: those of the first profile, if the usual one is missing."""
        profiles = (
            [] if self._setup is None else [each.scheduler_name for each in self._setup.config.profiles]
        )
        if not profiles or DEFAULT_SCHEDULER_NAME in profiles:
            return "kubectl create deployment web --image=nginx --replicas=20"
        overrides = f'{{"spec":{{"schedulerName":"{profiles[0]}"}}}}'
        return f"kubectl run web --image=nginx --overrides='{overrides}'"

    def _hurry(self) -> None:
        if self._scheduler is not None:
            self._scheduler.hurry()

    def _give_up(self) -> None:
        """Ends the process although a plugin cannot be interrupted; the cluster is stopped in order."""
        cluster = self._cluster

        async def stop() -> None:
            self._close_view()
            if cluster is not None:
                await cluster.stop()

        with contextlib.suppress(Exception):
            self._server.run(stop(), SECONDS_TO_STOP)
        if cluster is not None:
            remove(self._options.kubeconfig, cluster.who.admin_token)
        if self._dashboard is not None:
            self._dashboard.untell()
        exit_now(130)


def _why_not_heard(options: UpOptions, error: OSError) -> str:
    where = f"cannot listen on {options.address}:{options.port}"
    # Names that nobody knows have errors of their own, without a number that counts here.
    number = max(error.errno or 0, 0)
    why = os.strerror(number) if number else error.strerror or str(error)
    if number in (errno.EADDRINUSE, errno.EACCES):
        return f"--port: {where}: {why}; choose another, or 0 for a free one"
    return f"--address: {where}: {why}; give an address of this machine, such as 127.0.0.1"


def _is_listening(server: str) -> bool:
    place = urlsplit(server)
    try:
        socket.create_connection((place.hostname, place.port or 443), ANSWER_SECONDS).close()
    except (OSError, ValueError):
        return False
    return True


def _names(address: str) -> list[str]:
    return list(dict.fromkeys((*LOCAL_NAMES, "kubernetes", "kubernetes.default.svc", address)))


def _in_url(address: str) -> str:
    try:
        return f"[{address}]" if ip_address(address).version == 6 else address
    except ValueError:
        return address
