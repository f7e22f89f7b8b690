"""Everything else in a new project, and the project as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from moorage import __version__
from moorage.cli.scaffold.modules import (
    LINE_LENGTH,
    Wanted,
    api_module,
    plugin_module,
    test_module,
)
from moorage.cli.setup import BadInput
from moorage.config.show import to_yaml
from moorage.framework.loading.registry import Entry, Registry
from moorage.scheduler.profiles import default_document


def write_project(wanted: Wanted, parent: Path) -> Path:
    """Writes the project into a new folder below `parent`; an existing one is left alone."""
    files = project_files(wanted)
    folder = parent / wanted.names.project
    try:
        folder.mkdir()
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
    except FileExistsError:
        raise BadInput(f"{folder.name}: exists already; remove it or choose another name") from None
    except OSError as error:
        raise BadInput(f"{folder.name}: cannot be written: {error.strerror}") from None
    return folder


def project_files(wanted: Wanted) -> dict[str, str]:
    names = wanted.names
    package = names.package
    files = {
        "README.md": _readme(wanted),
        "pyproject.toml": _pyproject(wanted),
        "Dockerfile": _dockerfile(wanted),
        "scheduler-config.yaml": _configuration(wanted),
        "manifests/pod.yaml": to_yaml(_pod(wanted), sort_keys=False),
        f"{package}/__init__.py": f'from .plugin import {names.plugin}\n\n__all__ = ["{names.plugin}"]\n',
        f"{package}/plugin.py": plugin_module(wanted),
        f"{package}/py.typed": "",
        "tests/test_plugin.py": test_module(wanted),
    }
    if wanted.rule:
        files[f"{package}/api.py"] = api_module(names)
        files["manifests/rule.yaml"] = to_yaml(_rule(wanted), sort_keys=False)
    return files


def _configuration(wanted: Wanted) -> str:
    names = wanted.names
    registry = Registry()
    registry.add(Entry(names.plugin, names.project, _not_needed, tuple(wanted.points)))
    document = default_document(registry, [names.plugin])
    [profile] = document["profiles"]
    profile["schedulerName"] = names.project
    if wanted.args:
        profile["pluginConfig"] = [{"name": names.plugin, "args": {"prefix": names.domain}}]
    return to_yaml(document, sort_keys=False)


def _not_needed() -> Any:
    raise AssertionError("the plugin is not written yet")


def _pod(wanted: Wanted) -> dict[str, Any]:
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "first"},
        "spec": {"schedulerName": wanted.names.project, "containers": [container]},
    }


def _rule(wanted: Wanted) -> dict[str, Any]:
    names = wanted.names
    return {
        "apiVersion": f"{names.domain}/v1alpha1",
        "kind": names.rule,
        "metadata": {"name": "off-node-1"},
        "spec": {"avoid": ["node-1"]},
    }


def _dockerfile(wanted: Wanted) -> str:
    return f"""# Needed only if the plugin becomes more than files in one folder, or needs other packages.
FROM moorage:{__version__}
USER root
COPY . /build
RUN pip install --no-cache-dir --disable-pip-version-check /build && rm -r /build
USER 65532:65532
"""


def _pyproject(wanted: Wanted) -> str:
    names = wanted.names
    return f"""[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{names.project}"
version = "0.1.0"
description = "A scheduler plugin for Moorage."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["moorage"]

[project.optional-dependencies]
dev = ["mypy", "pytest", "ruff"]

[project.entry-points."moorage.plugins"]
{names.project} = "{names.package}:{names.plugin}"

[tool.setuptools]
packages = ["{names.package}"]

[tool.setuptools.package-data]
{names.package} = ["py.typed"]

[tool.pytest.ini_options]
testpaths = ["tests"]
pythonpath = ["."]

[tool.ruff]
line-length = {LINE_LENGTH}

[tool.ruff.lint]
select = ["E", "F", "W", "I", "B", "UP"]

[tool.mypy]
strict = true
"""


def _readme(wanted: Wanted) -> str:
    names = wanted.names
    files = f"--config scheduler-config.yaml --plugin {names.package}/plugin.py"
    image = f"registry.example.com/{names.project}:0.1.0"
    definition = f"moorage crd {names.package}/api.py | kubectl apply -f -\n" if wanted.rule else ""
    rule = "kubectl apply -f manifests/rule.yaml\n" if wanted.rule else ""
    note = _NOTE.format(names=names) if wanted.rule else ""
    return f"""# {names.plugin}

A scheduler plugin for Moorage. What it does is in `{names.package}/plugin.py`.

## Test it

```sh
pip install -e '.[dev]'
pytest
ruff check . && ruff format --check . && mypy {names.package} tests
```

## Try it

A cluster on this machine, in a terminal of its own. The plugin is loaded again whenever it is saved:

```sh
moorage up {files} --kubeconfig kubeconfig --reload
```

In another terminal:

```sh
export KUBECONFIG=kubeconfig
{rule}kubectl apply -f manifests/pod.yaml
kubectl get pod first -o wide
```
{note}
## Deploy it

Beside the scheduler of any cluster, without building an image; its pods say `schedulerName: {names.project}`:

```sh
{definition}moorage manifests {files} | kubectl apply -f -
```

Once it needs other packages, build an image and name the package instead of the file:

```sh
docker build -t {image} .
moorage manifests --config scheduler-config.yaml --plugin {names.package} --image {image} | kubectl apply -f -
```
"""


_NOTE = """
The class in `{names.package}/api.py` is the custom resource. `moorage up` makes its API server know it, also
when the class has changed; for any other cluster, `moorage crd` prints the definition.
"""
