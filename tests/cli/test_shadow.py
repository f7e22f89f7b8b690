"""`moorage shadow`: what it refuses, what it says, and what its manifests allow."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.cli.trying.shadow_words import LINES_AT_ONCE, LINES_SECONDS, Teller, share, summary_of
from moorage.config import load
from moorage.process.shadow_tally import Tally
from moorage.what_if.agreement import Verdict
from tests.cli.running import FILTER, Document, refused, run, run_alone, write, write_plugin

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
CLUSTER = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
    "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    "current-context": "c",
}


@pytest.mark.parametrize(
    ("flags", "said"),
    (
        (("--for", "soon"), "'soon' is no time to run; write it like 30s, 10m or 24h"),
        (("--for", "0"), "'0' is no time to run"),
        (("--metrics-port", "http"), "'http' is no port; write it like 9100 or 0.0.0.0:9100"),
        (("--metrics-port", "127.0.0.1:70000"), "is no port"),
        (("--other-percentage", "101"), "0<=x<=100"),
    ),
)
def test_wrong_values_are_named(flags: tuple[str, ...], said: str) -> None:
    result = run("shadow", *flags, standalone_mode=True)
    assert result.exit_code == 2
    assert said in " ".join(result.output.split())


def test_a_report_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    assert "there is no folder" in refused(run("shadow", "--report", tmp_path / "absent" / "report.json"))
    assert "cannot be written" in refused(run("shadow", "--report", tmp_path))


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    assert "absent" in refused(run("shadow", "--kubeconfig", tmp_path / "absent"))


def test_a_configuration_that_is_wrong(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"{HEADER}profiles:\n- plugins: {{score: {{enabled: [{{name: Absent}}]}}}}\n")
    assert "Absent" in refused(run("shadow", "--config", file))


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    kubeconfig = write(tmp_path / "kubeconfig", CLUSTER)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_alone("shadow", "--kubeconfig", kubeconfig, "--metrics-port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"--metrics-port: cannot listen on 127.0.0.1:{port}: ")


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    kubeconfig = write(tmp_path / "kubeconfig", CLUSTER)
    report = tmp_path / "report.json"
    done = run_alone("shadow", "--kubeconfig", kubeconfig, "--for", "500ms", "--report", report)
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("http://127.0.0.1:9: nothing was judged, since there was no list of ")
    assert "connection refused" in last
    assert not report.exists()


# What is said


def verdict(kind: str = "disagreed", **more: Any) -> Verdict:
    return Verdict(pod="d/p", node="b", kind=kind, **{"words": "a is better", **more})  # type: ignore[arg-type]


class TestTelling:
    def teller(self) -> tuple[Tally, Teller]:
        self.now = 0.0
        tally = Tally()
        return tally, Teller(tally, clock=lambda: self.now)

    def test_exceptions_have_a_line_each(self, capsys: pytest.CaptureFixture[str]) -> None:
        tally, teller = self.teller()
        for kind in ("agreed", "sampled", "timing", "disagreed"):
            teller.tell(tally.add(verdict(kind), "default-scheduler"))
        teller.tell(tally.add(verdict("infeasible", best=("a",)), "default-scheduler"))
        first, second = capsys.readouterr().out.splitlines()
        assert first.endswith("disagreed  d/p on b: a is better")
        assert second.endswith("infeasible  d/p on b: a is better; it would be a here")

    def test_unless_they_are_too_many(self, capsys: pytest.CaptureFixture[str]) -> None:
        tally, teller = self.teller()
        for _ in range(LINES_AT_ONCE + 30):
            teller.tell(tally.add(verdict(), "default-scheduler"))
        assert len(capsys.readouterr().out.splitlines()) == LINES_AT_ONCE
        self.now += LINES_SECONDS
        teller.show_line()
        assert capsys.readouterr().out == "... and 30 more; the report has the last of them\n"
        teller.tell(tally.add(verdict(), "default-scheduler"))
        assert len(capsys.readouterr().out.splitlines()) == 1

    def test_nobody_moves_the_cursor(self, capsys: pytest.CaptureFixture[str]) -> None:
        tally, teller = self.teller()
        teller.tell(tally.add(verdict(words="\x1b[2Jgone"), "default-scheduler"))
        assert "\x1b" not in capsys.readouterr().out

    def test_as_json_all_have_one(self, capsys: pytest.CaptureFixture[str]) -> None:
        tally = Tally()
        teller = Teller(tally, as_json=True)
        for kind in ("agreed", "disagreed"):
            teller.tell(tally.add(verdict(kind), "default-scheduler"))
        found = [yaml.safe_load(line) for line in capsys.readouterr().out.splitlines()]
        assert [each["verdict"] for each in found] == ["agreed", "disagreed"]


def test_all_is_not_said_of_nearly_all() -> None:
    assert share(None) == "unknown"
    assert share(1.0) == "100%"
    assert share(0.99999) == "99.99%"
    assert share(0.5) == "50%"


def test_the_summary() -> None:
    tally = Tally()
    for kind in ("agreed", "agreed", "sampled", "timing", "disagreed", "infeasible"):
        tally.add(verdict(kind, plugin="NodeAffinity"), "default-scheduler")
    lines = summary_of({**tally.document(), "failedPlugins": {"Quiet": 2}})
    assert lines[0].endswith("40% agreement:")
    for part in (
        "1 disagreed by NodeAffinity",
        "1 infeasible by NodeAffinity",
        "2 agreed: no other node is better",
        "Plugin Quiet failed 2 times",
        "timing, for example: d/p: a is better",
        "So much timing may hide differences",
    ):
        assert any(part in line for line in lines), part


def test_a_little_timing_is_usual() -> None:
    tally = Tally()
    for kind in ("agreed",) * 30 + ("timing",):
        tally.add(verdict(kind), "default-scheduler")
    lines = summary_of({**tally.document(), "failedPlugins": {}})
    assert not any("may hide" in line for line in lines)


# Manifests


def rendered(*args: str | Path) -> dict[str, Document]:
    result = run("manifests", "--shadow", *args)
    assert result.exit_code == 0, result.output
    return {each["kind"]: each for each in yaml.safe_load_all(result.stdout)}


class TestManifests:
    @pytest.mark.parametrize("more", ((), ("--with", "coscheduling,capacity")))
    def test_no_rule_allows_to_write(self, more: tuple[str, ...]) -> None:
        found = rendered(*more)
        rules = found["ClusterRole"]["rules"]
        assert rules
        for rule in rules:
            assert rule["verbs"] == ["get", "list", "watch"]
            assert "*" not in rule["resources"]
        assert "Role" not in found
        assert "RoleBinding" not in found

    def test_not_even_what_a_plugin_asks_for(self, tmp_path: Path) -> None:
        writing = FILTER.replace(
            "class Quiet(FilterPlugin):", "class Quiet(FilterPlugin):\n    permissions = ()"
        )
        writing = writing.replace("import FilterPlugin,", "import FilterPlugin, Permission,").replace(
            "permissions = ()", 'permissions = (Permission("delete", "", "pods"),)'
        )
        found = rendered("--plugin", write_plugin(tmp_path / "quiet.py", writing))
        assert {verb for rule in found["ClusterRole"]["rules"] for verb in rule["verbs"]} == {
            "get",
            "list",
            "watch",
        }

    def test_it_judges_the_pods_of_others_and_holds_no_lease(self, tmp_path: Path) -> None:
        file = tmp_path / "config.yaml"
        file.write_text(f"{HEADER}leaderElection: {{leaderElect: true}}\n")
        found = rendered("--config", file)
        config = load(found["ConfigMap"]["data"]["scheduler.yaml"]).config
        assert [profile.scheduler_name for profile in config.profiles] == ["default-scheduler"]
        assert not config.leader_election.leader_elect

    def test_its_command(self) -> None:
        found = rendered("--name", "beside")
        assert found["Deployment"]["metadata"]["name"] == "beside"
        spec = found["Deployment"]["spec"]
        assert spec["replicas"] == 1
        [container] = spec["template"]["spec"]["containers"]
        assert container["command"][:2] == ["moorage", "shadow"]
        assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTP"
        assert "priorityClassName" not in spec["template"]["spec"]
        assert "PodDisruptionBudget" not in found

    def test_its_metrics(self) -> None:
        found = rendered("--service-monitor")
        [port] = found["Service"]["spec"]["ports"]
        [endpoint] = found["ServiceMonitor"]["spec"]["endpoints"]
        assert (port["name"], endpoint) == ("http", {"port": "http", "scheme": "http", "path": "/metrics"})

    def test_what_makes_no_sense_is_refused(self) -> None:
        assert "--replace-default" in refused(run("manifests", "--shadow", "--replace-default"))
        assert "--replicas" in refused(run("manifests", "--shadow", "--replicas", "2"))


def test_a_trace_instead_of_a_cluster(tmp_path: Path) -> None:
    jobs, nodes, out = tmp_path / "jobs.csv", tmp_path / "nodes.csv", tmp_path / "jobs.moor"
    jobs.write_text("name,submitted,seconds,cpu\nzero,0,60,1\none,10,60,1\n")
    nodes.write_text("name,count,cpu,memory\nnode,2,4,8Gi\n")
    run("trace", "import", jobs, "--nodes", nodes, "--out", out)
    *choices, report = map(json.loads, run("shadow", "--trace", out, "-o", "json").stdout.splitlines())
    assert report["server"] == str(out)
    # A list of jobs does not say where they ran.
    assert [choice["words"] for choice in choices] == ["there is no node not-known"] * 2
    result = run("shadow", "--trace", out, "--for", "1s", standalone_mode=True)
    assert result.exit_code == 2
    assert "--for is for a cluster" in result.output


def test_a_trace_that_is_none(tmp_path: Path) -> None:
    other = tmp_path / "other.moor"
    other.write_text("hello")
    assert "other.moor: not a trace" in refused(run("shadow", "--trace", other))
    assert "check the path" in refused(run("shadow", "--trace", tmp_path / "absent.moor"))
