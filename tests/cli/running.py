"""Running `moorage` in this process or in one of its own, and files to run it on."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from moorage.cli.main import moorage

MOORAGE = str(Path(sys.executable).with_name("moorage"))

Document = dict[str, Any]

FILTER = """
from moorage import FilterPlugin, Status


class Quiet(FilterPlugin):
    \"\"\"Keeps pods off noisy nodes.\"\"\"

    def filter(self, cycle, pod, node):
        return Status.unschedulable("node is noisy") if node.labels.get("noisy") else None
"""


def run(*args: str | Path, **options: Any) -> Result:
    """The command in this process; what it raises beyond an exit fails the test."""
    return CliRunner().invoke(moorage, [str(arg) for arg in args], catch_exceptions=False, **options)


def run_alone(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """The installed command in a process of its own."""
    command = [MOORAGE, *(str(arg) for arg in args)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **options)


def on_terminal(*args: str | Path, columns: int = 80) -> str:
    """What the command shows on a terminal, without colours and cursor movements."""
    main, terminal = pty.openpty()
    shown = bytearray()
    process = subprocess.Popen(
        [MOORAGE, *(str(arg) for arg in args)],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env=environment(COLUMNS=str(columns), LINES="40", TERM="xterm"),
    )
    os.close(terminal)
    with process, contextlib.suppress(OSError):  # how a terminal that nobody writes to any more ends
        while chunk := os.read(main, 65536):
            shown += chunk
    os.close(main)
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, **more}


def refused(result: Result) -> str:
    """The one line with which a command refuses its input."""
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


def node(name: str, **fields: Any) -> Document:
    labels = {"kubernetes.io/hostname": name, **fields.pop("labels", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
        **fields,
    }


def pod(name: str, cpu: str = "1", *, namespace: str = "", **spec: Any) -> Document:
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
    }


def listed(*items: Document) -> Document:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def write(path: Path, *documents: Any) -> Path:
    """Writes documents as YAML, or as JSON, of which YAML is a superset."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(documents, default_flow_style=path.suffix == ".json" or None))
    return path


def write_plugin(path: Path, text: str = FILTER) -> Path:
    path.write_text(text)
    return path
