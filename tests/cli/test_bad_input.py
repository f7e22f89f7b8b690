"""Input that cannot be used: one clear line that names the place, no traceback unless -v, exit code 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Document, listed, node, pod, refused, run, run_alone, write, write_plugin

CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def metadata(value: Any) -> Document:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": value}


def with_resources(value: Any) -> Document:
    document = pod("p")
    document["spec"]["containers"][0]["resources"] = value
    return document


NOTHING = "holds no object; give manifests of nodes and pods"
NO_OBJECT = "not a Kubernetes object; give it an `apiVersion` and a `kind`"
NO_NAME = "this Pod has no name; give it a `metadata` with a `name`"

MANIFESTS: dict[str, tuple[Any, str]] = {
    "missing": (None, "cannot read the file: No such file or directory; check the path"),
    "empty": (b"", NOTHING),
    "comments": (b"# nothing\n---\n---\n", NOTHING),
    "empty list": (listed(), NOTHING),
    "not YAML": (b"a: [b\nc: d", "line 2, column 2: not YAML: did not find expected ',' or ']'"),
    "binary": (bytes(range(128, 256)), "not YAML: unacceptable character"),
    "null bytes": (b"\0\1\2", "not YAML: unacceptable character"),
    "odd key": (b"? [a]\n: b\n", "line 1, column 3: not YAML: found unhashable key"),
    "python tag": (
        b"!!python/object:os.system {}",
        "line 1, column 1: not YAML: could not determine a const",
    ),
    "deep": (b"a: " + b"[" * 5000, "not YAML: "),
    "deep and complete": (
        b"[" * 50000 + b"]" * 50000,
        "line 1, column 501: not YAML: nested deeper than 500 levels",
    ),
    "deep behind another": (
        b"{}\n---\n" + b"[" * 50000 + b"]" * 50000,
        "line 3, column 501: not YAML: nested",
    ),
    "text": (b"hello", NO_OBJECT),
    "array": ([1, 2], NO_OBJECT),
    "no kind": ({"metadata": {"name": "x"}}, NO_OBJECT),
    "kind of a wrong type": ({"kind": ["Pod"]}, NO_OBJECT),
    "unknown kind": (
        {"kind": "Moor", "metadata": {"name": "x"}},
        "holds nothing a scheduler looks at, only Moor; give manifests of nodes and pods",
    ),
    "only workloads": (
        listed({"kind": "Deployment"}, {"kind": "ConfigMap"}),
        "holds nothing a scheduler looks at, only ConfigMap, Deployment; give manifests of nodes and pods",
    ),
    "items": ({"kind": "List", "items": 5}, "`items` of this List is not a list"),
    "metadata of a wrong type": (metadata([1]), NO_NAME),
    "no metadata": ({"kind": "Pod"}, NO_NAME),
    "no name": (metadata({"namespace": "x"}), NO_NAME),
    "name of a wrong type": (metadata({"name": 5}), "Expected `str`, got `int` - at `$.metadata.name`"),
    "labels of a wrong type": (
        metadata({"name": "x", "labels": {"a": True}}),
        "Pod default/x: Expected `str`, got `bool` - at `$.metadata.labels[...]`",
    ),
    "spec of a wrong type": (
        {**pod("p"), "spec": 5},
        "Pod default/p: Expected `object`, got `int` - at `$.spec`",
    ),
    "containers of a wrong type": (
        pod("p", containers={"a": 1}),
        "Pod default/p: Expected `array`, got `object` - at `$.spec.containers`",
    ),
    "requests of a wrong type": (
        with_resources({"limits": {"cpu": 1}, "requests": ["cpu"]}),
        "Pod default/p: Expected `object`, got `array` - at `$.spec.containers[0].resources.requests`",
    ),
    "limits of a wrong type": (
        with_resources({"limits": 5}),
        "Pod default/p: Expected `object`, got `int` - at `$.spec.containers[0].resources.limits`",
    ),
}


@pytest.fixture(params=MANIFESTS)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    content, message = MANIFESTS[request.param]
    file = tmp_path / "bad.yaml"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        write(file, content)
    return file, message


def test_bad_manifests(bad: tuple[Path, str], tmp_path: Path) -> None:
    file, message = bad
    wanted, cluster = write(tmp_path / "pod.yaml", pod("p")), write(tmp_path / "cluster.yaml", node("n"))
    for args in (
        ("evaluate", "--cluster", cluster, "--pod", file),
        ("evaluate", "--cluster", file, "--pod", wanted),
        ("simulate", file, "--nodes", "1", "--pods", "1"),
    ):
        line = refused(run(*args))
        assert line.startswith(f"{file}: ")
        assert message in line
        assert "Traceback" in run(*args, "-v").stderr


def test_the_place_in_a_stream_of_documents_and_lists(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", node("a"), listed(pod("p"), pod("q", containers=5)))
    line = refused(run("simulate", file))
    expected = "Pod default/q: Expected `array`, got `int` - at `$.spec.containers`"
    assert line == f"{file}, document 2, items[1]: {expected}"


def test_standard_input_is_named_as_such() -> None:
    assert refused(run("simulate", "-", "--nodes", "1", input="a: [")).startswith("<stdin>: line 2, column 1")


def test_a_folder_without_manifests(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    line = refused(run("simulate", tmp_path))
    assert line == f"{tmp_path}: no manifests in this folder; put files ending in .yaml or .json there"


def test_one_bad_file_in_a_folder_is_named(tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.yaml", node("a"))
    bad = write(tmp_path / "in" / "b.yaml", 5)
    assert refused(run("simulate", tmp_path / "in")) == f"{bad}: {NO_OBJECT}"


def test_other_kinds_among_the_manifests_are_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "all.yaml", {"kind": "Deployment"}, node("a"), pod("p"), {"kind": "Moor"})
    assert run("simulate", file).exit_code == 0


BROKEN_CONFIGS: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "cannot read the file: No such file or directory; check the path"),
    "empty": (b"", "the file is empty; "),
    "not YAML": (b"a: [b", "not valid YAML or JSON: line "),
    "binary": (bytes(range(128, 256)), "not valid YAML or JSON: "),
    "list": (b"[1]", "must be a mapping, got [1]; "),
    "other kind": (
        b"apiVersion: v1\nkind: Pod\n",
        "kind: couldn't decode as KubeSchedulerConfiguration, got v1",
    ),
    "field": (CONFIG.encode() + b"nonsense: 1\n", 'unknown field "nonsense"'),
    "type": (CONFIG.encode() + b"parallelism: many\n", "parallelism: "),
}


@pytest.mark.parametrize("case", BROKEN_CONFIGS)
def test_a_bad_configuration(case: str, tmp_path: Path) -> None:
    content, message = BROKEN_CONFIGS[case]
    config = tmp_path / "scheduler.yaml"
    if content is not None:
        config.write_bytes(content)
    cluster, wanted = write(tmp_path / "c.yaml", node("n")), write(tmp_path / "p.yaml", pod("p"))
    for args in (
        ("evaluate", "--cluster", cluster, "--pod", wanted, "--config", config),
        ("simulate", "--nodes", "1", "--pods", "1", "--config", config),
        ("config", "validate", config),
        ("config", "view", config),
        ("config", "convert", config),
    ):
        assert message in refused(run(*args))


HEAD = "from moorage import FilterPlugin\n\n\nclass Mine(FilterPlugin):\n"
FILTERS = "    def filter(self, cycle, pod, node):\n        return None\n"
ARGS = f"""
import msgspec


class Args(msgspec.Struct):
    limit: int
    names: list[str] = []


{HEAD}    args_type = Args

{FILTERS}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import mine_gone\n", "ModuleNotFoundError: No module named 'mine_gone' (mine.py:1)"),
        ("x = 1\n", "holds no plugin; write a class with a base such as moorage.FilterPlugin"),
        (HEAD + "    pass\n", "class Mine lacks the method filter or filter_nodes"),
        (HEAD + '    name = "NodeName"\n' + FILTERS, "a plugin named NodeName already exists (in-tree)"),
        ("raise SystemExit\n", "cannot be imported: SystemExit"),
    ],
)
def test_a_bad_plugin_file_for_every_command(text: str, message: str, tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "mine.py", text)
    config = tmp_path / "scheduler.yaml"
    config.write_text(CONFIG)
    cluster, wanted = write(tmp_path / "c.yaml", node("n")), write(tmp_path / "p.yaml", pod("p"))
    for args in (
        ("evaluate", "--cluster", cluster, "--pod", wanted),
        ("evaluate", cluster),
        ("simulate", "--nodes", "1", "--pods", "1"),
        ("plugins",),
        ("config", "validate", config),
        ("config", "view", config, "--expanded"),
        ("config", "convert", config),
    ):
        line = refused(run(*args, "--plugin", plugin))
        assert line.startswith(f"{plugin}: ")
        assert message in line


def test_a_plugin_whose_constructor_raises(tmp_path: Path) -> None:
    made = "    def __init__(self, args, handle):\n        raise ValueError('no\\nway')\n\n"
    plugin = write_plugin(tmp_path / "mine.py", HEAD + made + FILTERS)
    cluster, wanted = write(tmp_path / "c.yaml", node("n")), write(tmp_path / "p.yaml", pod("p"))
    for args in (
        ("evaluate", "--cluster", cluster, "--pod", wanted),
        ("simulate", "--nodes", "1", "--pods", "1"),
    ):
        line = refused(run(*args, "--plugin", plugin))
        assert line.endswith('initializing plugin "Mine": ValueError: no way (mine.py:6)')


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("{}", "Mine: args: Object missing required field `limit`"),
        ("{limit: many}", "Mine: args.limit: Expected `int`, got `str`"),
        ("{limit: 1, names: [a, 5]}", "Mine: args.names[1]: Expected `str`, got `int`"),
        ("{limit: 1, nonsense: 2}", "Mine: args.nonsense: unknown field; known are limit, names"),
        ("[1]", "args"),
        ("5", "args"),
    ],
)
def test_args_of_a_plugin_that_cannot_be_read(args: str, message: str, tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "mine.py", ARGS)
    config = tmp_path / "scheduler.yaml"
    enabled = "plugins: {filter: {enabled: [{name: Mine}]}}"
    config.write_text(f"{CONFIG}profiles: [{{{enabled}, pluginConfig: [{{name: Mine, args: {args}}}]}}]\n")
    for name in ("validate", "view", "convert"):
        line = refused(run("config", name, config, "--plugin", plugin))
        assert line.startswith(f"{config}: profiles[0].pluginConfig[0]")
        assert message in line
    line = refused(run("simulate", "--nodes", "1", "--pods", "1", "--config", config, "--plugin", plugin))
    assert line.startswith(f"{config}: profiles[0]")
    assert message.removeprefix("Mine: ") in line


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    """Neither a warning nor a traceback from elsewhere joins the line."""
    plugin = write_plugin(tmp_path / "mine.py", "import sys\nsys.exit(0)\n")
    done = run_alone("simulate", "--nodes", "1", "--pods", "1", "--plugin", plugin)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{plugin}: cannot be imported: SystemExit: 0 (mine.py:2)\n"
