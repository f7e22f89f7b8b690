from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Document, listed, node, on_terminal, pod, run, write, write_plugin
from tests.golden.compare import differences

RECORDED = Path(__file__).parent.parent / "golden" / "data"
V1 = "kubescheduler.config.k8s.io/v1"

SCENARIO: Document = {"id": "one", "objects": [node("n")], "pod": pod("p")}


def recorded(count: int) -> tuple[list[bytes], list[Document]]:
    """The first lines of a recording, and what kube-scheduler decided."""
    with gzip.open(RECORDED / "taints.jsonl.gz") as lines:
        chosen = [line for line, _ in zip(lines, range(count), strict=False)]
    return chosen, [json.loads(line)["expected"] for line in chosen]


def results(text: str) -> list[Document]:
    return [json.loads(line) for line in text.splitlines()]


# Scenarios, one per line


@pytest.mark.parametrize("way", ["file", "gz", "stdin"])
def test_recorded_lines_are_decided_as_recorded(way: str, tmp_path: Path) -> None:
    lines, expected = recorded(30)
    text = b"".join(lines)
    file = tmp_path / ("lines.jsonl.gz" if way == "gz" else "lines.jsonl")
    file.write_bytes(gzip.compress(text) if way == "gz" else text)
    result = run("evaluate", "-", input=text) if way == "stdin" else run("evaluate", file)
    assert (result.exit_code, result.stderr) == (0, "")
    got = results(result.stdout)
    assert [each["id"] for each in got] == [json.loads(line)["scenario"]["id"] for line in lines]
    assert [differences(*pair) for pair in zip(expected, got, strict=True)] == [[]] * 30


BAD_LINES: dict[str, tuple[Any, str]] = {
    "not JSON": ("{nonsense", "not JSON: "),
    "not text": (b"\xff\xfe", "not JSON: "),
    "too deep": ("[" * 5000, "not JSON: "),
    "not an object": ([1], "not a scenario; it needs `objects` and `pod`"),
    "no pod": ({"objects": []}, "not a scenario; it needs `objects` and `pod`"),
    "objects": ({**SCENARIO, "objects": 5}, "objects: not a list of Kubernetes objects"),
    "object": ({**SCENARIO, "objects": [node("n"), 5]}, "objects[1]: not a Kubernetes object; give it a"),
    "kind": ({**SCENARIO, "objects": [{"kind": ["Node"]}]}, "objects[0]: not a Kubernetes object"),
    "type": (
        {**SCENARIO, "pod": pod("p", containers=7)},
        "Pod p: Expected `array`, got `int` - at `$.spec.c",
    ),
    "config": ({**SCENARIO, "config": 5}, "must be a mapping, got 5"),
    "version": ({**SCENARIO, "config": {"apiVersion": "v7", "kind": "X"}}, "kind: couldn't decode as"),
    "plugin": (
        {
            **SCENARIO,
            "config": {
                "apiVersion": V1,
                "kind": "KubeSchedulerConfiguration",
                "profiles": [{"plugins": {"score": {"enabled": [{"name": "Nope"}]}}}],
            },
        },
        'ScorePlugin "Nope" does not exist',
    ),
}


@pytest.mark.parametrize("case", BAD_LINES)
def test_a_bad_line_is_reported_and_the_others_still_come_out(case: str, tmp_path: Path) -> None:
    line, message = BAD_LINES[case]
    bad = line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()
    good = json.dumps(SCENARIO).encode()
    file = tmp_path / "lines.jsonl"
    file.write_bytes(b"\n".join((good, b"", bad, good)))
    result = run("evaluate", file)
    assert result.exit_code == 1
    (said,) = result.stderr.splitlines()
    assert said.startswith(f"{file} line 3: ")
    assert message in said
    first, second, third = results(result.stdout)
    assert first == third
    assert first["best"] == ["n"]
    assert said.endswith(second["error"])
    assert "Traceback" in run("evaluate", file, "-v").stderr


def test_standard_input_is_named_as_such() -> None:
    result = run("evaluate", "-", input="nonsense\n")
    assert result.stderr.startswith("<stdin> line 1: not JSON")


def test_a_plugin_takes_part_in_scenarios_without_a_configuration(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    noisy = {**SCENARIO, "objects": [node("n", labels={"noisy": "true"}), node("m")]}
    result = run("evaluate", "-", "--plugin", plugin, input=json.dumps(noisy))
    (got,) = results(result.stdout)
    assert got["nodeStatus"]["n"]["reasons"] == ["node is noisy"]
    assert got["best"] == ["m"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.jsonl", None, "cannot read the file: No such file or directory; check the path"),
        ("none.jsonl.gz", None, "cannot read the file: No such file or directory; check the path"),
        ("empty.jsonl", b"", "holds no scenario; give one JSON object per line"),
        ("blank.jsonl", b"\n \n", "holds no scenario; give one JSON object per line"),
        ("text.jsonl.gz", b"text", "cannot read the file: Not a gzipped file"),
        (
            "cut.jsonl.gz",
            gzip.compress(b"x" * 99, mtime=0)[:20],
            "cannot read the file: Compressed file ended",
        ),
        ("broken.jsonl.gz", gzip.compress(b"xyz", mtime=0)[:10] + b"\xff" * 20, "cannot read the file: "),
    ],
)
def test_a_file_of_scenarios_that_cannot_be_read(
    name: str, content: bytes | None, message: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    result = run("evaluate", file)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"{file}: {message}")


# A pod and a cluster


def table(output: str) -> dict[str, str]:
    """Node to its line."""
    lines = output.partition("\n\n")[0].splitlines()[1:]
    return {line.split()[0]: line for line in lines}


def verdict(output: str) -> str:
    return output.partition("\n\n")[2].strip()


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    small = {"allocatable": {"cpu": "500m", "memory": "8Gi", "pods": "10"}}
    tainted = {"taints": [{"key": "a", "effect": "NoSchedule"}]}
    running = pod("running", "2", nodeName="used", priority=0)
    return write(
        tmp_path / "cluster.yaml",
        node("free"),
        node("used"),
        node("bad", spec=tainted, status=small),
        running,
    )


def test_the_table_shows_scores_totals_and_objections(cluster: Path, tmp_path: Path) -> None:
    result = run("evaluate", "--cluster", cluster, "--pod", write(tmp_path / "pod.yaml", pod("p")))
    assert (result.exit_code, result.stderr) == (0, "")
    header = result.stdout.splitlines()[0].split()
    assert header[:2] == ["NODE", "FITS"]
    assert header[-3:] == ["TOTAL", "WHY", "NOT"]
    assert "NODERESOURCESFIT" in header
    rows = table(result.stdout)
    assert rows["free"].split()[1] == "best"
    assert "3x100" in rows["free"]
    assert rows["used"].split()[1] == "yes"
    assert rows["bad"].split()[1] == "no"
    assert "TaintToleration: node(s) had untolerated taint" in rows["bad"]
    assert "NodeResourcesFit: Insufficient cpu" in rows["bad"], "not only the first objection"
    assert verdict(result.stdout) == "Pod default/p goes to node free."


def test_equally_good_nodes(tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("a"), node("b"))
    result = run("evaluate", "--cluster", cluster, "--pod", write(tmp_path / "pod.yaml", pod("p")))
    assert verdict(result.stdout) == "Pod default/p goes to one of the nodes a, b, which are equally good."


def test_long_reasons_stay_on_one_line_in_a_file(tmp_path: Path) -> None:
    names = [f"{'x' * 60}-{i}" for i in range(3)]
    cluster = write(tmp_path / "c.yaml", *(node(name) for name in names))
    file = write(tmp_path / "pod.yaml", pod("p", cpu="lots" * 99))
    rows = table(run("evaluate", "--cluster", cluster, "--pod", file).stdout)
    assert list(rows) == names
    assert all("is not a quantity" in row for row in rows.values())


def test_a_narrow_terminal_folds_reasons_and_then_rows(cluster: Path, tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p"))
    args = ("evaluate", "--cluster", cluster, "--pod", wanted)
    assert on_terminal(*args, columns=60).startswith("NODE: free\n  FITS: best\n  TAINTTOLERATION: 3x100\n")
    shown = on_terminal(*args, columns=80)
    assert "\nbad   no\n    WHY NOT: TaintToleration: node(s) had untolerated taint(s);" in shown
    shown = on_terminal(*args, columns=110)
    rows = table(shown)
    assert rows["free"].split()[1:3] == ["best", "3x100"]
    assert {"free", "used", "bad"} <= rows.keys()
    assert "ALLOCATION" in rows["NODE"]
    assert "TOTAL" in rows["NODE"]
    assert "WHY NOT" in rows["NODE"]
    assert "Insufficient" in shown


def test_brackets_are_not_markup(tmp_path: Path) -> None:
    plugin = "from moorage import *\n\nclass P(FilterPlugin):\n    def filter(self, *args):\n"
    plugin += "        return Status.unschedulable('[bold]loud[/bold] :smile: [/oops]')\n"
    file = write_plugin(tmp_path / "p.py", plugin)
    cluster, wanted = write(tmp_path / "c.yaml", node("n")), write(tmp_path / "p.yaml", pod("p"))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted, "--plugin", file)
    assert "P: [bold]loud[/bold] :smile: [/oops]" in result.stdout


@pytest.mark.parametrize("form", ["yaml", "json", "list", "typed list", "folder", "stdin"])
def test_manifests_in_any_form(form: str, tmp_path: Path) -> None:
    nodes = [node("a"), node("b", labels={"disk": "ssd"})]
    wanted = write(tmp_path / "pod.json", pod("p", nodeSelector={"disk": "ssd"}))
    text = None
    source: Path | str = tmp_path / "cluster.yaml"
    assert isinstance(source, Path)
    if form == "yaml":
        write(source, *nodes)
    elif form == "json":
        source = tmp_path / "cluster.json"
        source.write_text(json.dumps(listed(*nodes)))
    elif form == "list":
        write(source, listed(nodes[0], listed(nodes[1])))
    elif form == "typed list":
        items = [{key: value for key, value in each.items() if key != "kind"} for each in nodes]
        write(source, {"apiVersion": "v1", "kind": "NodeList", "items": items})
    elif form == "folder":
        source = tmp_path / "folder"
        write(source / "deep" / "a.yml", nodes[0])
        write(source / "b.json", nodes[1])
        (source / "notes.txt").write_text("not: [a manifest")
    else:
        text = write(source, *nodes).read_text()
        source = "-"
    result = run("evaluate", "--cluster", source, "--pod", wanted, input=text)
    assert (result.exit_code, result.stderr) == (0, "")
    assert verdict(result.stdout) == "Pod default/p goes to node b."


def test_output_as_json(cluster: Path, tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p"))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted, "-o", "json")
    got = json.loads(result.stdout)
    assert (got["id"], got["best"], got["feasible"]) == ("default/p", ["free"], ["free", "used"])
    assert got["filter"]["bad"]["TaintToleration"]["code"] == "UnschedulableAndUnresolvable"


def test_limits_count_as_requests(tmp_path: Path) -> None:
    cluster = write(tmp_path / "c.yaml", node("n"))
    wanted = pod("p")
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "5", "memory": "1Gi"}}
    result = run("evaluate", "--cluster", cluster, "--pod", write(tmp_path / "p.yaml", wanted))
    assert "Insufficient cpu" in verdict(result.stdout)


def test_the_pod_itself_is_not_part_of_the_cluster(tmp_path: Path) -> None:
    cluster = write(tmp_path / "c.yaml", node("n"), pod("p", "3", nodeName="n"), pod("q", nodeName="n"))
    result = run("evaluate", "--cluster", cluster, "--pod", write(tmp_path / "p.yaml", pod("p", "3")))
    assert verdict(result.stdout) == "Pod default/p goes to node n."


def test_a_pod_that_fits_nowhere(cluster: Path, tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p", "64"))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted)
    assert result.exit_code == 3
    rows = table(result.stdout)
    assert {name: row.split()[1] for name, row in rows.items()} == dict.fromkeys(rows, "no")
    assert "NodeResourcesFit: Insufficient cpu" in rows["free"]
    assert "TaintToleration: node(s) had" in rows["bad"]
    assert "NodeResourcesFit: Insufficient cpu" in rows["bad"]
    assert verdict(result.stdout).startswith(
        "Pod default/p stays pending: 0/3 nodes are available: 1 node(s) had untolerated taint(s), "
        "2 Insufficient cpu."
    )


def test_preemption_that_would_help(cluster: Path, tmp_path: Path) -> None:
    only = write(tmp_path / "c.yaml", node("used"), pod("running", "2", nodeName="used", priority=0))
    wanted = write(tmp_path / "pod.yaml", pod("p", "3", priority=10))
    result = run("evaluate", "--cluster", only, "--pod", wanted)
    first, second = verdict(result.stdout).splitlines()
    assert first.startswith("Pod default/p stays pending: 0/1 nodes are available: 1 Insufficient cpu.")
    assert second == "Preempting on node used would help: default/running"


def test_a_gated_pod(cluster: Path, tmp_path: Path) -> None:
    wanted = write(tmp_path / "pod.yaml", pod("p", schedulingGates=[{"name": "example.com/wait"}]))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted)
    assert result.exit_code == 3
    assert "Pod default/p may not enter the queue: " in result.stdout
    assert "example.com/wait" in result.stdout


def test_the_node_a_pod_is_narrowed_to(cluster: Path, tmp_path: Path) -> None:
    field = {"key": "metadata.name", "operator": "In", "values": ["used"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    wanted = write(tmp_path / "pod.yaml", pod("p", affinity=affinity))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted)
    assert "left out by PreFilter" in table(result.stdout)["free"]
    assert verdict(result.stdout) == "Pod default/p goes to node used."


PROFILES = f"""
apiVersion: {V1}
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: first
- schedulerName: second
  plugins: {{score: {{disabled: [{{name: "*"}}]}}, filter: {{disabled: [{{name: TaintToleration}}]}}}}
"""


def test_the_profile_the_pod_names_is_used(cluster: Path, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(PROFILES)
    for name, fits in (("first", ["free", "used"]), ("second", ["bad", "free", "used"])):
        wanted = write(tmp_path / "pod.yaml", pod("p", "100m", schedulerName=name))
        result = run("evaluate", "--cluster", cluster, "--pod", wanted, "--config", config, "-o", "json")
        assert (result.exit_code, result.stderr) == (0, "")
        assert json.loads(result.stdout)["feasible"] == fits


def test_a_warning_says_which_profile_stands_in(cluster: Path, tmp_path: Path) -> None:
    config = tmp_path / "scheduler.yaml"
    config.write_text(PROFILES)
    wanted = write(tmp_path / "pod.yaml", pod("p"))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted, "--config", config)
    assert result.exit_code == 0
    assert result.stderr == (
        "Warning: pod default/p asks for scheduler default-scheduler, profiles are first, second; "
        "first is used\n"
    )


def test_plugins_with_and_without_a_configuration(tmp_path: Path) -> None:
    plugin = write_plugin(tmp_path / "quiet.py")
    cluster = write(tmp_path / "c.yaml", node("a", labels={"noisy": "true"}), node("b"))
    wanted = write(tmp_path / "p.yaml", pod("p"))
    args = ("evaluate", "--cluster", cluster, "--pod", wanted, "--plugin", plugin)
    result = run(*args)
    assert "Quiet: node is noisy" in table(result.stdout)["a"]
    config = tmp_path / "scheduler.yaml"
    config.write_text(f"apiVersion: {V1}\nkind: KubeSchedulerConfiguration\n")
    result = run(*args, "--config", config)
    assert "noisy" not in result.stdout
    assert result.stderr == "Warning: plugin Quiet is registered, but no profile enables it\n"


FAILING = """
from moorage import FilterPlugin, ScorePlugin


class Filters(FilterPlugin):
    def filter(self, cycle, pod, node):
        raise ValueError("no idea")


class Scores(ScorePlugin):
    def score(self, cycle, pod, node):
        return 5000
"""


@pytest.mark.parametrize(
    ("plugin", "nodes", "said"),
    [
        ("Filters", 1, 'stays pending: running "Filters" filter plugin: ValueError: no idea'),
        ("Scores", 2, "stays pending: applying score defaultWeights on Score plugins: plugin"),
        ("Scores", 1, "goes to node n0. Scoring fails: applying score defaultWeights on Score plugins: plu"),
    ],
)
def test_a_plugin_that_fails(plugin: str, nodes: int, said: str, tmp_path: Path) -> None:
    file = write_plugin(tmp_path / "failing.py", FAILING)
    cluster = write(tmp_path / "c.yaml", *(node(f"n{i}") for i in range(nodes)))
    wanted = write(tmp_path / "p.yaml", pod("p"))
    result = run("evaluate", "--cluster", cluster, "--pod", wanted, "--plugin", f"{file}:{plugin}")
    assert (result.exit_code, result.stderr) == (1, "")
    assert f"Pod default/p {said}" in verdict(result.stdout)
    fits = {row.split()[1] for row in table(result.stdout).values()}
    assert fits == {"no" if plugin == "Filters" else "yes"}


@pytest.mark.parametrize(
    ("pods", "message"),
    [
        ([pod("p"), pod("q")], "holds 2 pods; give a file with exactly one"),
        ([node("n")], "holds 0 pods; give a file with exactly one"),
    ],
)
def test_exactly_one_pod_is_asked_for(pods: list[Document], message: str, tmp_path: Path) -> None:
    cluster, wanted = write(tmp_path / "c.yaml", node("n")), write(tmp_path / "p.yaml", *pods)
    result = run("evaluate", "--cluster", cluster, "--pod", wanted)
    assert (result.exit_code, result.stderr) == (1, f"{wanted}: {message}\n")
