"""`moorage up`: bad input in one clear line, clean ends, and plugins that are loaded again."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.running import node, pod, run, write, write_plugin
from tests.controlplane.schedulers import Api
from tests.controlplane.servers import HOST, Program, wait_for
from tests.embedded.clusters import Embedded

STOP_SECONDS = 20.0

SAVED_AT = 1_700_000_000_000_000_000
"""In nanoseconds: what is saved twice within a second, in the same length, must not look like the same."""

KEEPS_OFF = """
from moorage import FilterPlugin, Status


class KeepsOff(FilterPlugin):
    def filter(self, cycle, pod, node):
        return Status.unschedulable("not here") if node.name.endswith("{}") else None
"""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    return tmp_path / "kubeconfig"


def refusal(*args: str | Path) -> str:
    """The one line with which `up` refuses its input."""
    result = run("up", *args)
    assert (result.exit_code, result.stdout) == (1, ""), result.stderr
    [line] = result.stderr.splitlines()
    return line


# Bad input


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--nodes", "20001"], "--nodes: 20001 are too many; at most 20000 are possible"),
        (["--nodes", "none.yaml"], "--nodes: 'none.yaml' is neither a number nor a file; give a number or"),
        (["--nodes", "-3"], "--nodes: '-3' is neither a number nor a file; give a number or"),
        (["--nodes", ""], "--nodes: '' is neither a number nor a file; give a number or"),
        (["--config", "none.yaml"], "none.yaml: "),
        (["--plugin", "none.py"], "none.py"),
        (["--plugin", "no_such_module"], "no_such_module"),
    ],
)
def test_what_is_not_there(args: list[str], line: str, kubeconfig: Path) -> None:
    result = run("up", *args, "--kubeconfig", kubeconfig)
    assert (result.exit_code, result.stdout) == (1, ""), result.stderr
    [shown] = result.stderr.splitlines()
    assert line in shown
    assert not kubeconfig.exists()


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (["--reload"], "--reload needs a --plugin or a --config to watch"),
        (
            ["--reload", "--config", "-"],
            "--reload cannot read standard input again; give --config a file",
        ),
        (
            ["--no-scheduler", "--plugin", "x.py"],
            "--no-scheduler leaves nothing for --plugin, --config and --with to do",
        ),
        (
            ["--no-processes", "--run-namespace=lab"],
            "--no-processes leaves nothing for --run-image and --run-namespace to do",
        ),
        (["--run-namespace=a,b"], "'a,b' cannot be the name of a namespace; give one name each time"),
        (["--run-namespace="], "'' cannot be the name of a namespace"),
        (
            ["--no-dashboard", "--dashboard-port=8080"],
            "--no-dashboard leaves nothing for --dashboard-port to do",
        ),
        (["--dashboard-port", "70000"], "70000 is not in the range"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--port", "x"], "'x' is not a valid integer"),
        (["--bogus"], "No such option"),
        (["extra"], "Got unexpected extra argument"),
        (["--kubeconfig", "."], "is a directory"),
        (["--address="], "--address is empty; give an address of this machine"),
    ],
)
def test_options_that_do_not_go_together(args: list[str], why: str) -> None:
    result = run("up", *args)
    assert result.exit_code == 2
    assert why in result.stderr.splitlines()[-1]


def test_files_with_wrong_content(tmp_path: Path, kubeconfig: Path) -> None:
    def refused(*args: str | Path) -> str:
        result = run("up", *args, "--kubeconfig", kubeconfig)
        assert result.exit_code == 1
        return result.stderr.splitlines()[-1]

    pods = write(tmp_path / "pods.yaml", pod("p"))
    assert refused("--nodes", pods) == (
        f"--nodes: {pods} holds no Node; give a number or a YAML file of Node objects"
    )
    twice = write(tmp_path / "twice.yaml", node("a"), node("b"), node("a"))
    assert refused("--nodes", twice) == (
        f"--nodes: {twice} holds 2 nodes named a; give each a name of its own"
    )
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    assert refused("--nodes", broken).startswith(f"{broken}")
    config = tmp_path / "config.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofilez: []\n"
    )
    assert "profilez" in refused("--config", config)
    plugin = write_plugin(tmp_path / "broken.py", "this is no Python")
    assert str(plugin) in refused("--plugin", plugin)


def test_nodes_that_break_rules(tmp_path: Path, kubeconfig: Path) -> None:
    nodes = write(tmp_path / "nodes.yaml", node("good"), node("Bad_Name"))
    line = refusal("--nodes", nodes, "--kubeconfig", kubeconfig)
    assert line.startswith(
        f'--nodes: {nodes}: Node "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name"'
    )
    assert not kubeconfig.exists()


def test_a_port_for_the_dashboard_that_is_taken(kubeconfig: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = str(taken.getsockname()[1])
        line = refusal("--dashboard-port", port, "--kubeconfig", kubeconfig)
    assert line == (
        f"--dashboard-port: cannot listen on {HOST}:{port}: Address already in use; "
        "choose another, or 0 for a free one"
    )
    assert not kubeconfig.exists() and not kubeconfig.with_name("kubeconfig.scheduler").exists()


def test_a_port_that_is_taken_and_an_address_that_is_not_ours(kubeconfig: Path) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal("--no-scheduler", "--port", str(port), "--kubeconfig", kubeconfig)
    assert line == (
        f"--port: cannot listen on {HOST}:{port}: Address already in use; choose another, or 0 for a free one"
    )
    for address in ("192.0.2.1", "no.such.name.invalid"):
        line = refusal("--no-scheduler", f"--address={address}", "--kubeconfig", kubeconfig)
        assert line.startswith(f"--address: cannot listen on {address}:0: ")
        assert line.endswith("; give an address of this machine, such as 127.0.0.1")


def test_kubeconfig_files_of_others_are_not_touched(tmp_path: Path, kubeconfig: Path) -> None:
    for content in ("current-context: production\n", "", "not: [yaml", "- a\n", "clusters: 5\n"):
        kubeconfig.write_text(content)
        result = run("up", "--no-scheduler", "--kubeconfig", kubeconfig)
        assert result.exit_code == 1
        assert (
            result.stderr
            == f"{kubeconfig}: exists and is not from moorage up; give another file with --kubeconfig\n"
        )
        assert kubeconfig.read_text() == content
    folder = tmp_path / "file"
    folder.write_text("")
    assert refusal("--no-scheduler", "--kubeconfig", folder / "kubeconfig").startswith(
        f"{folder / 'kubeconfig'}: cannot be "
    )


# Running


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_cleanly(number: signal.Signals, tmp_path: Path) -> None:
    with Embedded("--nodes=2", folder=tmp_path) as cluster:
        text = cluster.program.log_text()
        assert f"{cluster.url}, 2 nodes. Type:" in text
        assert "  export KUBECONFIG=kubeconfig\n  kubectl get nodes\n" in text
        assert (cluster.kubeconfig.stat().st_mode & 0o777) == 0o600
        if sys.platform == "linux":
            assert _listening(cluster.url.rpartition(":")[2]) == ["0100007F"], "on loopback only"
        cluster.program.send(number)
        assert cluster.program.exit_code(STOP_SECONDS) == 0
        assert cluster.program.log_text().endswith("Stopping.\n")
        assert not cluster.kubeconfig.exists()


def test_a_cluster_says_whose_kubeconfig_it_takes(tmp_path: Path) -> None:
    with Embedded("--nodes=0") as first:
        copy = tmp_path / "kubeconfig"
        copy.write_text(first.kubeconfig.read_text())
        with Embedded("--nodes=0", folder=tmp_path) as second:
            line = (
                f"{copy}: was that of a cluster that still runs at {first.url}, and is now that of this one"
            )
            _wait_for_line(second.program, line, times=1)
            _wait_for_line(second.program, "The cluster is ready", times=1)
            assert second.url != first.url


def _listening(port: str) -> list[str]:
    """The addresses on which the system has sockets that listen on a port, as it writes them."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    sockets = [local for _, local, _, state, *_ in lines if state == "0A"]
    return [local[:8] for local in sockets if local.endswith(f":{int(port):04X}")]


def test_a_file_of_nodes_and_a_configuration(tmp_path: Path) -> None:
    nodes = write(tmp_path / "nodes.yaml", node("one"), node("two", spec={"unschedulable": True}))
    config = tmp_path / "config.json"
    profile = {"schedulerName": "mine"}
    config.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [profile],
            }
        )
    )
    log = tmp_path / "log"
    flags = (f"--nodes={nodes}", f"--config={config}", f"--log-file={log}")
    with Embedded(*flags, folder=tmp_path) as cluster:
        api = Api(cluster)
        api.create([pod("p", namespace="default", schedulerName="mine"), pod("other", namespace="default")])
        wait_for("the pod's node", lambda: api.bound() == {"p": "one"})
        line = "mine: default/p: Scheduled: Successfully assigned default/p to one"
        _wait_for_line(cluster.program, line, times=1)
        assert line in log.read_text()
        assert "kubectl create deployment" not in cluster.program.log_text(), "its pods would wait for ever"
        suggested = re.search("--overrides='(.*)'", cluster.program.log_text())
        assert suggested is not None
        assert json.loads(suggested[1]) == {"spec": {"schedulerName": "mine"}}


@pytest.fixture
def reloading(tmp_path: Path) -> Iterator[Embedded]:
    plugin = write_plugin(tmp_path / "keeps_off.py", KEEPS_OFF.format("0"))
    os.utime(plugin, ns=(0, SAVED_AT))
    with Embedded("--nodes=2", f"--plugin={plugin}", "--reload", folder=tmp_path) as cluster:
        yield cluster


def _save(plugin: Path, text: str, at: int) -> None:
    """Replaces the file at once, so that no half of it is ever seen."""
    new = plugin.with_suffix(".new")
    new.write_text(text)
    os.utime(new, ns=(0, at))
    new.rename(plugin)


def test_a_changed_plugin_is_loaded_again(reloading: Embedded, tmp_path: Path) -> None:
    plugin, api = tmp_path / "keeps_off.py", Api(reloading)
    first, second = sorted(each["metadata"]["name"] for each in api.items("nodes"))
    last = first[-1], second[-1]
    _save(plugin, KEEPS_OFF.format(last[0]), SAVED_AT + 1)
    _wait_for_line(reloading.program, "keeps_off.py: reloaded; waiting pods are tried again", times=1)
    api.create([pod("a", namespace="default")])
    wait_for("the first pod's node", lambda: api.bound().get("a") == second)

    _save(plugin, "def broken(", SAVED_AT + 2)
    _wait_for_line(reloading.program, "keeps_off.py: not reloaded, the old one goes on: ", times=1)
    api.create([pod("b", namespace="default")])
    wait_for("the second pod's node", lambda: api.bound().get("b") == second)

    _save(plugin, KEEPS_OFF.format(last[1]), SAVED_AT + 3)
    _wait_for_line(reloading.program, "keeps_off.py: reloaded; waiting pods are tried again", times=2)
    api.create([pod("c", namespace="default")])
    wait_for("the third pod's node", lambda: api.bound().get("c") == first)


CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: {}
"""


def test_a_changed_configuration_is_read_again(tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIG.format("first"))
    with Embedded("--nodes=1", f"--config={config}", "--reload", folder=tmp_path) as cluster:
        api = Api(cluster)
        _save(config, CONFIG.format("first") + "  pluginz: []\n- schedulerNam: x\n", SAVED_AT)
        _wait_for_line(cluster.program, "scheduler.yaml: not reloaded, the old one goes on: ", times=1)
        api.create([pod("a", namespace="default", schedulerName="first")])
        wait_for("the pod of the old configuration", lambda: "a" in api.bound())

        _save(config, CONFIG.format("second"), SAVED_AT + 1)
        _wait_for_line(cluster.program, "scheduler.yaml: reloaded; waiting pods are tried again", times=1)
        api.create([pod("b", namespace="default", schedulerName="second")])
        wait_for("the pod of the new configuration", lambda: "b" in api.bound())
        lines = cluster.program.log_text().splitlines()
        [refused] = [line for line in lines if "not reloaded" in line]
        assert "pluginz" in refused and "schedulerNam" in refused, "all problems, in one line"


def test_a_configuration_is_followed_beside_a_plugin(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "keeps_off.py", KEEPS_OFF.format("1"))
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIG.format("default-scheduler"))
    flags = (f"--plugin={plugin}", f"--config={config}", "--reload")
    with Embedded("--nodes=1", *flags, folder=tmp_path) as cluster:
        api = Api(cluster)
        enabled = "  plugins: {filter: {enabled: [{name: KeepsOff}]}}\n"
        _save(config, CONFIG.format("default-scheduler") + enabled, SAVED_AT)
        _wait_for_line(cluster.program, "scheduler.yaml: reloaded; waiting pods are tried again", times=1)
        api.create([pod("a", namespace="default")])
        _wait_for_line(cluster.program, "FailedScheduling: 0/1 nodes are available: 1 not here", times=1)
        _save(plugin, KEEPS_OFF.format("2"), SAVED_AT + 1)
        wait_for("the pod's node", lambda: "a" in api.bound())


WIDGETS = """
from moorage import FilterPlugin, Object, Status


class Widget(Object, kw_only=True):
    group, version, resource, kind = "example.com", "v1", "{0}", "{1}"
    namespaced = False
    size: {2} = 1


class Widgets(FilterPlugin):
    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.widgets = handle.lister_of(Widget, sync_timeout=30)

    def filter(self, cycle, pod, node):
        return None if self.widgets.get(pod.name) else Status.unschedulable("no widget")
"""


def test_custom_resources_of_plugins_are_defined(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "widgets.py", WIDGETS.format("widgets", "Widget", "int"))
    with Embedded("--nodes=1", f"--plugin={plugin}", "--reload", folder=tmp_path) as cluster:
        api, said = Api(cluster), "Custom resources of the plugins are defined: {}"
        _wait_for_line(cluster.program, said.format("widgets.example.com"), times=1)
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}
        api.request("POST", "/apis/example.com/v1/widgets", widget)
        api.create([pod("a", namespace="default")])
        wait_for("the pod's node", lambda: "a" in api.bound())

        _save(plugin, WIDGETS.format("gadgets", "Gadget", "int"), SAVED_AT)
        _wait_for_line(cluster.program, said.format("gadgets.example.com"), times=1)
        _wait_for_line(cluster.program, "widgets.py: reloaded", times=1)
        _save(plugin, WIDGETS.format("gadgets", "Gadget", "str | list[str]"), SAVED_AT + 1)
        _wait_for_line(cluster.program, "gadgets.example.com: not applied: Widget", times=1)
        _wait_for_line(cluster.program, "widgets.py: reloaded", times=2)


def _wait_for_line(program: Program, line: str, *, times: int) -> None:
    def said() -> bool:
        program.check_running()
        return program.log_text().count(line) >= times

    wait_for(line, said, seconds=20)
