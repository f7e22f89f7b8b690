"""`moorage new plugin`: names, refusals, and projects that are good as they are."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from moorage.cli.scaffold import snippets
from moorage.config import load_file
from moorage.framework.extension_points import BASES as POINTS
from moorage.framework.loading.registry import find_plugins
from tests.cli.running import refused, run

BIN = Path(sys.executable).parent
_numbers = count(1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which projects are made; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if name.startswith(("sample", "moorage_plugin_", "generated_")):
            del sys.modules[name]


def make(folder: Path, *options: str, name: str = "") -> Path:
    name = name or f"sample-{next(_numbers)}"
    result = run("new", "plugin", name, *options)
    assert result.exit_code == 0, result.stderr
    return folder / result.stdout.partition(":")[0]


def load_tests(project: Path) -> ModuleType:
    """The project's tests, imported in this process."""
    sys.path.insert(0, str(project))
    file = project / "tests" / "test_plugin.py"
    spec = importlib.util.spec_from_file_location(f"generated_{project.name}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pass_tests(project: Path) -> int:
    tests = [
        value
        for name, value in vars(load_tests(project)).items()
        if name.startswith("test_") and inspect.isfunction(value)
    ]
    for test in tests:
        test()
    return len(tests)


@pytest.mark.parametrize(
    ("name", "project", "package", "plugin"),
    [
        ("quiet-nodes", "quiet-nodes", "quiet_nodes", "QuietNodes"),
        ("quiet_nodes", "quiet-nodes", "quiet_nodes", "QuietNodes"),
        ("QuietNodes", "quiet-nodes", "quiet_nodes", "QuietNodes"),
        ("quietNodes", "quiet-nodes", "quiet_nodes", "QuietNodes"),
        ("Quiet-nodes_now", "quiet-nodes-now", "quiet_nodes_now", "QuietNodesNow"),
        ("HTTPLimits", "http-limits", "http_limits", "HttpLimits"),
        ("zone2zone", "zone2zone", "zone2zone", "Zone2zone"),
        ("q", "q", "q", "Q"),
    ],
)
def test_names(folder: Path, name: str, project: str, package: str, plugin: str) -> None:
    made = make(folder, name=name)
    assert made == folder / project
    assert f"class {plugin}(FilterPlugin, ScorePlugin):" in (made / package / "plugin.py").read_text()
    content = tomllib.loads((made / "pyproject.toml").read_text())
    assert content["project"]["name"] == project
    assert content["project"]["entry-points"]["moorage.plugins"] == {project: f"{package}:{plugin}"}
    [profile] = load_file(made / "scheduler-config.yaml").config.profiles
    assert profile.scheduler_name == project
    pod = yaml.safe_load((made / "manifests" / "pod.yaml").read_text())
    assert pod["spec"]["schedulerName"] == project


def test_a_point_without_an_example_gets_its_methods_declared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(snippets.SNIPPETS, "permit", snippets._to_be_written("permit"))
    project = make(folder, "--points", "permit")
    plugin = (project / project.name.replace("-", "_") / "plugin.py").read_text()
    assert "from moorage import CycleState, PermitPlugin, Pod, Status, Wait\n" in plugin
    assert "def permit(self, cycle: CycleState, pod: Pod, node_name: str) -> Status | Wait | None:" in plugin
    assert pass_tests(project) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("1st",), "'1st' cannot be a name; use at most 30 letters and digits, a letter first"),
        (("quiet nodes",), "cannot be a name; use"),
        (("../up",), "cannot be a name; use"),
        (("nœud",), "cannot be a name; use"),
        (("a-",), "cannot be a name; use"),
        (("",), "cannot be a name; use"),
        (("x" * 31,), "cannot be a name; use"),
        (("class",), "'class' cannot be a name: a package cannot be called class; choose another"),
        (("tests",), "a package cannot be called tests"),
        (("none",), "a class cannot be called None"),
        (("True",), "a class cannot be called True"),
        (("pytest",), "the project needs the module pytest"),
        (("ruff",), "the project needs the module ruff"),
        (("fake-handle",), "moorage.testing.FakeHandle is something else"),
        (("json",), "there is a module json already"),
        (("numpy",), "there is a module numpy already"),
        (("node-name",), "there is a plugin NodeName already"),
        (("cycle-state",), "moorage.CycleState is something else"),
        (
            ("mine", "--points", "filter,nonsense"),
            "--points: 'nonsense' is no extension point; known are pre",
        ),
        (("mine", "--points", ""), "--points: '' is no extension point"),
    ],
)
def test_bad_input_is_one_line(folder: Path, args: tuple[str, ...], message: str) -> None:
    assert message in refused(run("new", "plugin", *args))
    assert list(folder.iterdir()) == []


def test_an_existing_folder_is_left_alone(folder: Path) -> None:
    (folder / "mine").mkdir()
    (folder / "mine" / "notes").write_text("dear")
    line = refused(run("new", "plugin", "mine"))
    assert line == "mine: exists already; remove it or choose another name"
    assert [path.name for path in folder.rglob("*")] == ["mine", "notes"]


def test_a_folder_that_cannot_be_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    assert refused(run("new", "plugin", "mine")) == "mine: cannot be written: No space left on device"


@pytest.mark.parametrize(
    "spelling", ["preFilter,score", "PreFilter, Score", "score,pre_filter", "pre-filter,SCORE"]
)
def test_points_may_be_spelled_in_many_ways(folder: Path, spelling: str) -> None:
    made = make(folder, "--points", spelling)
    [(plugin, _)] = find_plugins(str(made / made.name.replace("-", "_") / "plugin.py"))
    assert [base.__name__ for base in plugin.__bases__] == ["PreFilterPlugin", "ScorePlugin"]


@pytest.mark.parametrize(
    ("point", "options"),
    [
        *((point, ()) for point in POINTS),
        *((point, ("--args",)) for point in POINTS),
        *((point, ("--crd",)) for point in POINTS),
    ],
)
def test_every_point_alone(folder: Path, point: str, options: tuple[str, ...]) -> None:
    made = make(folder, "--points", point, *options)
    assert pass_tests(made) == 1 + len(options)
    config = load_file(made / "scheduler-config.yaml").config
    enabled = config.profiles[0].plugins.enabled_names()
    assert made.name.title().replace("-", "") in enabled
    file = made / made.name.replace("-", "_") / "plugin.py"
    result = run("config", "validate", made / "scheduler-config.yaml", "--plugin", file)
    assert (result.exit_code, result.stderr) == (0, "")


def test_all_points_at_once(folder: Path) -> None:
    made = make(folder, "--points", "all", "--args", "--crd")
    assert pass_tests(made) == len(POINTS) + 2


LONG = "abcdefghij-klmnopqrst-uvwxyz90"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("quiet-nodes", ()),
        ("n", ("--points", "score", "--crd")),
        ("sample-alone", ("--points", "preEnqueue,bind", "--args", "--crd")),
        (LONG, ("--points", "all", "--args", "--crd")),
        (LONG, ("--points", "preFilter,preScore,score,permit", "--crd")),
    ],
)
def test_a_project_is_clean_as_generated(
    folder: Path, name: str, options: tuple[str, ...], tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = make(folder, *options, name=name)
    cache = tmp_path_factory.getbasetemp() / "mypy-cache-of-projects"
    for command in (
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--no-cache", "--check", "."),
        ("mypy", f"--cache-dir={cache}", made.name.replace("-", "_"), "tests"),
        ("pytest", "-q", "-p", "no:cacheprovider", "-W", "error"),
    ):
        done = subprocess.run(
            [BIN / command[0], *command[1:]],
            cwd=made,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def test_it_can_be_deployed_without_an_image(folder: Path) -> None:
    made = make(folder, "--crd", name="sample-deployed")
    plugin = made / "sample_deployed" / "plugin.py"
    result = run("manifests", "--config", made / "scheduler-config.yaml", "--plugin", plugin)
    assert (result.exit_code, result.stderr) == (0, "")
    objects = {each["kind"]: each for each in yaml.safe_load_all(result.stdout)}
    assert list(objects["ConfigMap"]["data"]) == ["scheduler.yaml", "api.py", "plugin.py"]
    assert "sampledeployedrules" in str(objects["ClusterRole"]["rules"])


def test_its_custom_resource_has_a_definition(folder: Path) -> None:
    made = make(folder, "--crd", name="sample-defined")
    result = run("crd", made / "sample_defined" / "api.py")
    assert result.exit_code == 0
    definition = yaml.safe_load(result.stdout)
    rule = yaml.safe_load((made / "manifests" / "rule.yaml").read_text())
    assert definition["spec"]["names"]["kind"] == rule["kind"] == "SampleDefinedRule"
    assert rule["apiVersion"] == f"{definition['spec']['group']}/v1alpha1"


def test_the_readme_names_files_that_exist(folder: Path) -> None:
    made = make(folder, "--crd", name="sample-read")
    text = (made / "README.md").read_text()
    for name in ("sample_read/plugin.py", "sample_read/api.py", "manifests/pod.yaml", "manifests/rule.yaml"):
        assert name in text and (made / name).is_file()
    define = "moorage crd sample_read/api.py | kubectl apply -f -\n"
    assert "kubeconfig\nkubectl apply -f manifests/rule.yaml\nkubectl apply -f manifests/pod.yaml\n" in text
    assert f"{define}moorage manifests --config" in text
