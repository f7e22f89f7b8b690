"""`moorage evaluate --advise`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import Document, listed, node, on_terminal, pod, run, write


def cluster(tmp_path: Path) -> Path:
    tainted = node("n1", spec={"taints": [{"key": "gpu", "value": "true", "effect": "NoSchedule"}]})
    return write(tmp_path / "cluster.yaml", listed(tainted, node("n2"), pod("a", "3", nodeName="n2")))


def pending(tmp_path: Path) -> Path:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "once", "uid": "j", "controller": True}
    document = pod("p", "2")
    document["metadata"]["ownerReferences"] = [owner]
    return write(tmp_path / "pod.yaml", document)


def test_words_fold_at_the_width_of_the_terminal(tmp_path: Path) -> None:
    shown = on_terminal("evaluate", "--cluster", cluster(tmp_path), "--pod", pending(tmp_path), "--advise")
    lines = shown.splitlines()
    assert all(len(line) <= 80 for line in lines)
    told = " ".join(line.strip() for line in lines)
    assert (
        "It would fit if: it tolerated gpu=true:NoSchedule (n1) · its cpu request were 1 or less (n2) · "
        "n1 had no taint gpu=true:NoSchedule"
    ) in told
    assert told.endswith("What concerns the pod belongs in spec.template of Job default/once.")


def test_json_has_the_advice_and_the_exit_code_stays(tmp_path: Path) -> None:
    files = ("--cluster", cluster(tmp_path), "--pod", pending(tmp_path))
    result = run("evaluate", *files, "--advise", "-o", "json")
    assert result.exit_code == 3
    first, *_ = json.loads(result.stdout)["advice"]
    assert first["text"] == "it tolerated gpu=true:NoSchedule (n1)"
    assert first["where"] == {
        "kind": "Job",
        "namespace": "default",
        "name": "once",
        "path": "spec.template",
    }
    assert "advice" not in json.loads(run("evaluate", *files, "-o", "json").stdout)


def test_a_pod_that_fits_is_told_nothing(tmp_path: Path) -> None:
    small = write(tmp_path / "small.yaml", pod("p", "100m"))
    files = ("--cluster", cluster(tmp_path), "--pod", small)
    assert "It would fit" not in run("evaluate", *files, "--advise").stdout
    assert "advice" not in json.loads(run("evaluate", *files, "--advise", "-o", "json").stdout)


def test_where_nothing_helps_that_is_said(tmp_path: Path) -> None:
    files = ("--cluster", write(tmp_path / "none.yaml", pod("a")), "--pod", pending(tmp_path))
    assert "No change that was tried would make it fit." in run("evaluate", *files, "--advise").stdout


def test_lines_have_advice_where_the_pod_does_not_fit() -> None:
    waiting: Document = {"id": "one", "objects": [node("n")], "pod": pod("p", "6")}
    fitting: Document = {"id": "two", "objects": [node("n")], "pod": pod("p", "2")}
    hopeless: Document = {"id": "three", "objects": [], "pod": pod("p", "2")}
    text = "\n".join(map(json.dumps, (waiting, fitting, hopeless)))
    result = run("evaluate", "-", "--advise", input=text)
    first, second, third = map(json.loads, result.stdout.splitlines())
    assert first["advice"][0]["text"] == "its cpu request were 4 or less (n)"
    assert "advice" not in second
    assert third["advice"] == []


def test_odd_documents_are_survived() -> None:
    odd = pod("p", "6", affinity=None, tolerations=None, volumes=None, nodeSelector={})
    odd["metadata"]["ownerReferences"] = None
    bare: Document = {"kind": "Node", "metadata": {"name": "n"}}
    gpu: Document = {"kind": "Node", "metadata": {"name": "m", "labels": None}, "spec": None, "status": None}
    result = run("evaluate", "-", "--advise", input=json.dumps({"objects": [bare, gpu], "pod": odd}))
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)["advice"] == []
