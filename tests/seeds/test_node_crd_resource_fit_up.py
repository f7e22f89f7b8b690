"""The plugin with a custom resource in `moorage up`, where the definition can come after the start only."""

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


def test_the_cluster_ends_when_the_definition_does_not_come(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    done = run_alone("up", config(tmp_path, 0.5), PLUGIN, "--nodes=0", f"--kubeconfig={kubeconfig}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        'initializing plugin "NodeCRDResourceFit": WaitForCacheSync failed'
    )
    assert "The cluster is ready" in done.stdout
    assert not kubeconfig.exists()


def test_pods_are_scheduled_once_the_definition_is_there(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    programs_for(pytestconfig)
    with Embedded(config(tmp_path, 60), PLUGIN, f"--nodes={MANIFESTS / 'nodes.yaml'}") as cluster:
        kubectl = cluster.kubectl
        kubectl("apply", "-f", str(MANIFESTS / "simple-pod.yaml"))
        kubectl("apply", "-f", str(MANIFESTS / "crd.yaml"))
        kubectl("wait", "--for=condition=Established", "crd/clusterscopedresources.scheduling.sigs.k8s.io")
        kubectl("apply", "-f", str(MANIFESTS / "clusterscopedresources-cr.yaml"))

        def node() -> str:
            return kubectl("get", "pod", "nginx", "-o", "jsonpath={.spec.nodeName}")

        assert wait_for("the bind", node) in ("eee", "fff")
