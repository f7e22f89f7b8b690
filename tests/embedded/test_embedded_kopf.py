"""A kopf operator with admission handlers, on our API server and on the real one."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from moorage.client.self_signed import self_signed
from tests.controlplane.servers import wait_for
from tests.docs.blocks import ROOT, blocks_of
from tests.embedded.comparing import Pair

PAGE = ROOT / "docs/webhooks.md"


@contextlib.contextmanager
def operator(kubeconfig: Path, folder: Path) -> Iterator[None]:
    """The operator for one server, until the block ends."""
    folder.mkdir()
    example = next(block for block in blocks_of(PAGE) if "import kopf" in block.text)
    (folder / "hooks.py").write_text(example.text)
    text = self_signed(("localhost", "127.0.0.1")).decode()
    start = text.index("-----BEGIN CERTIFICATE-----")
    (folder / "hook.key").write_text(text[:start])
    (folder / "hook.crt").write_text(text[start:])
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=default", "hooks.py"]
    with (folder / "kopf.log").open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | {"KUBECONFIG": str(kubeconfig)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(20)


def config_map(name: str, **data: str) -> str:
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return yaml.safe_dump({**head, "data": data})


def test_an_operator_changes_and_refuses_objects(pair: Pair, tmp_path: Path) -> None:
    files = {"good": {"a": "b"}, "bad": {"secret": "x"}, "probe": {"secret": "x"}}
    for name, data in files.items():
        (tmp_path / f"{name}.yaml").write_text(config_map(name, **data))
    with contextlib.ExitStack() as stack:
        for number, kubeconfig in enumerate(pair.kubeconfigs):
            stack.enter_context(operator(kubeconfig, tmp_path / f"operator-{number}"))
        probe = f"create --dry-run=server -f {tmp_path / 'probe.yaml'}"

        def refused() -> bool:
            return all("no secrets" in done.errors for done in pair.on_both(probe))

        wait_for("kopf's webhooks", refused, seconds=60)
        pair.compare(f"""
            create -f {tmp_path / "good.yaml"}
            get configmap good -o yaml
            create -f {tmp_path / "bad.yaml"}
            get configmaps -l seen=yes -o name
            patch configmap good --type=merge -p '{{"data":{{"secret":"x"}}}}'
            label configmap good seen-
            get configmap good -o jsonpath={{.metadata.labels}}
            delete configmap good
        """)
