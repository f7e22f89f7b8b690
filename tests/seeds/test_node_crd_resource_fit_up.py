"""The plugin with a custom resource in `moorage up`, which has the definition from the start on."""

from pathlib import Path

import pytest
import yaml

from tests.cli.running import run_alone
from tests.controlplane.programs import programs_for
from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Embedded
from tests.seeds.common import EXAMPLES

EXAMPLE = EXAMPLES / "node_crd_resource_fit"
MANIFESTS = EXAMPLE / "manifests"
PLUGIN = f"--plugin={EXAMPLE / 'plugin.py'}"


def config(folder: Path, seconds: float) -> str:
    """The flag with the example's configuration and a time-out of one's own."""
    content = yaml.safe_load((EXAMPLE / "scheduler-config.yaml").read_text())
    args = {"cacheSyncTimeoutSeconds": seconds}
    content["profiles"][0]["pluginConfig"] = [{"name": "NodeCRDResourceFit", "args": args}]
    file = folder / "scheduler-config.yaml"
    file.write_text(yaml.safe_dump(content))
    return f"--config={file}"


DEMANDING = """
from moorage import FilterPlugin


class Demanding(FilterPlugin):
    def __init__(self, args, handle):
        super().__init__(args, handle)
        handle.lister("example.com", "v1", "widgets", sync_timeout=0.5)

    def filter(self, cycle, pod, node):
        return None
"""


def test_the_cluster_ends_when_a_definition_does_not_come(tmp_path: Path) -> None:
    """Without a class there is nothing that a definition could be made of."""
    kubeconfig, plugin = tmp_path / "kubeconfig", tmp_path / "demanding.py"
    plugin.write_text(DEMANDING)
    done = run_alone("up", f"--plugin={plugin}", "--nodes=0", f"--kubeconfig={kubeconfig}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == 'initializing plugin "Demanding": WaitForCacheSync failed'
    [waiting] = [line for line in done.stderr.splitlines() if "Nothing is scheduled before" in line]
    assert 'resource="widgets.example.com"' in waiting
    assert "The cluster is ready" in done.stdout
    assert not kubeconfig.exists()


def test_the_definition_is_there_and_that_of_the_project_can_take_its_place(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    programs_for(pytestconfig)
    with Embedded(config(tmp_path, 60), PLUGIN, f"--nodes={MANIFESTS / 'nodes.yaml'}") as cluster:
        kubectl = cluster.kubectl
        kubectl("apply", "-f", str(MANIFESTS / "simple-pod.yaml"))
        assert "configured" in kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))
        kubectl("apply", "-f", str(MANIFESTS / "clusterscopedresources-cr.yaml"))

        def node() -> str:
            return kubectl("get", "pod", "nginx", "-o", "jsonpath={.spec.nodeName}")

        assert wait_for("the bind", node) in ("eee", "fff")
