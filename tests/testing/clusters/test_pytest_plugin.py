"""The pytest plugin, in this test run, which may have several processes, and in runs of their own."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from moorage import CycleState, FilterPlugin, NodeInfo, Pod, Status
from moorage.testing import ApiServer, Cluster, make_node, make_pod

PLUGIN = "moorage.testing.pytest_plugin"
ROOT = Path(__file__).parents[3]

QUIET_NODES = """
    from pathlib import Path
    import pytest
    from moorage import FilterPlugin, Status
    from moorage.testing import make_node, make_pod

    class QuietNodes(FilterPlugin):
        def filter(self, cycle, pod, node):
            return Status.unschedulable("node is noisy") if node.labels.get("noisy") else None

    NOISY = make_node("noisy", labels={"noisy": "true"})
"""


class Nowhere(FilterPlugin):
    def filter(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        return Status.unschedulable("not here")


@pytest.fixture
def runs(pytester: pytest.Pytester) -> pytest.Pytester:
    """Test runs that have the plugin, whether Moorage is installed with it or not."""
    pytester.makeconftest((ROOT / "conftest.py").read_text())
    return pytester


def test_it_is_light() -> None:
    """Every test run of every user loads it."""
    code = (
        f"import sys, pytest; before = set(sys.modules); import {PLUGIN}; print(*set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {each for each in loaded if each.startswith("moorage")} == {
        "moorage",
        "moorage.testing",
        PLUGIN,
    }
    assert not loaded & {"numpy", "msgspec", "aiohttp", "asyncio", "yaml", "click"}


def test_without_a_mark_there_are_three_nodes(cluster: Cluster) -> None:
    assert [each["metadata"]["name"] for each in cluster.list("node")] == ["node-1", "node-2", "node-3"]
    assert cluster.schedule(make_pod()).node


@pytest.mark.moorage(plugins=[Nowhere], nodes=2)
class TestMarks:
    def test_a_mark_says_what_the_cluster_has(self, cluster: Cluster) -> None:
        assert cluster.schedule(make_pod()).message.startswith("0/2 nodes are available: 2 not here")

    @pytest.mark.moorage(nodes=[make_node("only")])
    def test_the_nearest_mark_wins(self, cluster: Cluster) -> None:
        assert cluster.schedule(make_pod()).message.startswith("0/1 nodes are available: 1 not here")


def test_a_cluster_and_an_api_server_beside_it(cluster: Cluster, api: ApiServer) -> None:
    assert api.url != cluster.url
    assert api.list("node") == []


def test_objects_are_there_when_the_scheduler_starts() -> None:
    waiting = make_pod("early", cpu="1")
    with Cluster(objects=[waiting], nodes=1) as cluster:
        assert cluster.wait_bound(waiting).spec.node_name == "node-1"


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("node=3", "unknown argument 'node'; there are plugins, nodes, config, args, objects"),
        ("[object]", "give its arguments names, as in plugins=[[]...[]]"),
        ("plugins=[object]", "plugins: <class 'object'> is no plugin; give classes, or what --plugin takes"),
        ("plugins=['none.py']", "none.py: no such file; check the path"),
        ("config='none.yaml'", "none.yaml: cannot read the file: No such file or directory; check the path"),
        ("nodes='3'", "nodes: '3' is neither a number nor a list of nodes"),
        ("nodes=[NOISY, NOISY]", "nodes: 2 are named noisy; give each a name of its own"),
        ("nodes=[make_node('No_Name')]", 'nodes: Node "No_Name" is invalid: metadata.name: Invalid value: *'),
        ("objects=[make_pod(namespace='none')]", 'namespaces "none" not found'),
        ("nodes=[make_pod()]", "nodes: a Pod is no Node; give it with `objects`"),
    ],
)
def test_a_wrong_mark_is_refused(runs: pytest.Pytester, mark: str, said: str) -> None:
    runs.makepyfile(QUIET_NODES + f"\n    @pytest.mark.moorage({mark})\n    def test_it(cluster): pass")
    result = runs.runpytest_inprocess()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"@pytest.mark.moorage: {said}"])


def test_nothing_is_left_of_a_test_that_failed(runs: pytest.Pytester) -> None:
    runs.makepyfile(
        QUIET_NODES
        + """
    @pytest.mark.moorage(plugins=[QuietNodes], nodes=[NOISY])
    def test_unhappy(cluster, api):
        Path("folders").write_text(f"{cluster.kubeconfig.parent} {api.kubeconfig.parent}")
        assert cluster.schedule(make_pod()).node
"""
    )
    threads, sockets = set(threading.enumerate()), _open_sockets()
    result = runs.runpytest_inprocess("-W", "error")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*<Outcome default/pod: Unschedulable: 0/1 nodes are available: 1 node is noisy*"]
    )
    folders = (runs.path / "folders").read_text().split()
    assert len(folders) == 2
    assert not any(Path(folder).exists() for folder in folders)
    assert set(threading.enumerate()) == threads
    assert _open_sockets() == sockets


def test_an_exception_in_a_plugin_is_shown_with_its_line(runs: pytest.Pytester) -> None:
    runs.makepyfile(
        QUIET_NODES
        + """
    class Boom(FilterPlugin):
        def filter(self, cycle, pod, node):
            return {}["zone"]

    @pytest.mark.moorage(plugins=[Boom])
    def test_it(cluster):
        cluster.schedule(make_pod())
"""
    )
    result = runs.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            '*return {}[[]"zone"[]]*',
            "*KeyError: 'zone'*",
            "*SchedulerError: default/pod: *KeyError*",
            "*Captured log call*",
            "*ERROR*Error scheduling pod; retrying*",
        ]
    )


def test_a_cluster_for_many_tests(runs: pytest.Pytester) -> None:
    runs.makepyfile(
        QUIET_NODES
        + """
    from moorage.testing import Cluster

    @pytest.fixture(scope="session")
    def shared():
        with Cluster([QuietNodes], nodes=[make_node("quiet", pods=1)]) as cluster:
            yield cluster

    @pytest.fixture
    def namespace(shared):
        with shared.namespace() as name:
            yield name

    @pytest.mark.parametrize("number", range(3))
    def test_it(shared, namespace, number):
        assert shared.schedule(make_pod(namespace=namespace)).node == "quiet"
"""
    )
    runs.runpytest_inprocess().assert_outcomes(passed=3)


def _open_sockets() -> int:
    return sum(_is_socket(each) for each in Path("/proc/self/fd").iterdir())


def _is_socket(descriptor: Path) -> bool:
    try:
        return str(descriptor.readlink()).startswith("socket:")
    except OSError:  # the one with which the folder was read
        return False
