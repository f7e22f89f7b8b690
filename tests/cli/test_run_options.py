"""The flags of `moorage run`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from moorage import CycleState, NodeInfo, Pod, ScorePlugin, new_scheduler_command
from moorage.cli.run import run
from moorage.cli.running.options import ADDRESS_VARIABLE, RunOptions
from moorage.cli.setup import BadInput

FILE = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true, resourceName: mine}
clientConnection: {kubeconfig: from-file, qps: 7}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "scheduler.yaml"
    path.write_text(FILE)
    return str(path)


def test_with_a_file_the_deprecated_flags_have_no_effect_but_those_of_the_election_do(file: str) -> None:
    options = RunOptions(
        config=file,
        kubeconfig="/does/not/exist",
        kube_api_qps=1.0,
        leader_elect=False,
        leader_elect_lease_duration="30s",
        leader_elect_resource_namespace="elsewhere",
    )
    config = options.set_up().config
    assert config.client_connection.kubeconfig == "from-file"
    assert config.client_connection.qps == 7
    election = config.leader_election
    assert (election.leader_elect, election.lease_duration.seconds) == (False, 30)
    assert (election.resource_name, election.resource_namespace) == ("mine", "elsewhere")


def test_without_a_file_the_flags_count() -> None:
    config = RunOptions(kubeconfig="kc", kube_api_qps=9.0, kube_api_burst=11, profiling=False).set_up().config
    assert (config.client_connection.kubeconfig, config.client_connection.qps) == ("kc", 9.0)
    assert (config.client_connection.burst, config.enable_profiling) == (11, False)


def test_flags_are_validated_like_the_file() -> None:
    with pytest.raises(BadInput, match='resourceLock value must be "leases"'):
        RunOptions(leader_elect_resource_lock="endpoints").set_up()
    with pytest.raises(BadInput, match=r"--leader-elect-retry-period: .*write it like 30s"):
        RunOptions(leader_elect_retry_period="soon").set_up()


@pytest.mark.parametrize(("text", "seconds"), [(None, 300.0), ("1m30s", 90.0), ("10s", 10.0)])
def test_the_longest_wait_for_an_event(text: str | None, seconds: float) -> None:
    assert RunOptions(pod_max_in_unschedulable_pods_duration=text).max_in_unschedulable() == seconds


@pytest.mark.parametrize(
    "arguments",
    [
        ["-v=5", "--leader-elect=false"],
        ["--v=5", "--leader_elect=0"],
        ["-v", "5", "-leader-elect=false"],
        ["-v5", "--leader-elect=False"],
    ],
)
def test_flags_may_be_written_as_for_go_programs(arguments: list[str], file: str, tmp_path: Path) -> None:
    target = tmp_path / "written.yaml"
    result = CliRunner().invoke(run, ["--config", file, *arguments, f"--write-config-to={target}"])
    assert result.exit_code == 0, result.output
    assert "leaderElect: false" in target.read_text()


def test_a_bare_boolean_flag_means_true(file: str, tmp_path: Path) -> None:
    target = tmp_path / "written.yaml"
    result = CliRunner().invoke(run, ["--config", file, "--leader-elect", "--write-config-to", str(target)])
    assert result.exit_code == 0, result.output
    assert "leaderElect: true" in target.read_text()


def test_flags_of_kube_scheduler_without_effect_are_taken_and_warned_about(file: str, tmp_path: Path) -> None:
    target = tmp_path / "written.yaml"
    flags = ["--disabled-metrics=a", "--kube-api-content-type=text/plain", "--tls-curve-preferences=29"]
    flags += ["--feature-gates=OpportunisticBatching=false"]
    result = CliRunner().invoke(run, ["--config", file, *flags, f"--write-config-to={target}"])
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        "Warning: --disabled-metrics has no effect",
        "Warning: --kube-api-content-type has no effect",
        "Warning: --tls-curve-preferences has no effect",
        "Warning: --feature-gates: OpportunisticBatching=false has no effect",
    ]


def test_lists_have_commas_and_may_be_repeated(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[RunOptions] = []

    def keep(options: RunOptions) -> int:
        seen.append(options)
        return 0

    monkeypatch.setattr("moorage.cli.running.process.run_process", keep)
    flags = [
        "--requestheader-allowed-names=a,b",
        "--requestheader-allowed-names=c",
        "--tls-sni-cert-key=a.crt,a.key",
        "--tls-sni-cert-key=b.crt,b.key:b.test,c.test",
        "--permit-port-sharing",
        "--authentication-token-webhook-cache-ttl=1m",
    ]
    result = CliRunner().invoke(run, ["--config", file, *flags])
    assert (result.exit_code, result.stderr) == (0, "")
    [options] = seen
    assert options.requestheader_allowed_names == ("a", "b", "c")
    assert options.requestheader_username_headers == ("x-remote-user",)
    assert options.requestheader_uid_headers == ()
    assert options.tls_sni_cert_key == ("a.crt,a.key", "b.crt,b.key:b.test,c.test")
    assert options.permit_port_sharing
    assert options.seconds("authentication-token-webhook-cache-ttl") == 60.0
    assert options.seconds("authorization-webhook-cache-authorized-ttl") == 10.0


def test_extenders_that_cannot_be_used_are_named(file: str, tmp_path: Path) -> None:
    Path(file).write_text(FILE + "extenders: [{urlPrefix: 'localhost:80', filterVerb: f}]\n")
    result = CliRunner().invoke(run, ["--config", file])
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    assert line.startswith(
        f'{file}: extenders[0].urlPrefix: "localhost:80" is not the URL of an extender; write http'
    )
    written = CliRunner().invoke(run, ["--config", file, f"--write-config-to={tmp_path / 'written.yaml'}"])
    assert written.exit_code == 0


def test_positional_arguments_are_refused(file: str) -> None:
    result = CliRunner().invoke(run, ["--config", file, "positional"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: Got unexpected extra argument (positional); `")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--config", "missing.yaml"], "missing.yaml: cannot read the file"),
        (["--kubeconfig", "missing.kubeconfig"], "missing.kubeconfig"),
        (["--feature-gates", "Nope=true"], "--feature-gates: unrecognized feature gate: Nope"),
        (["--plugin", "missing_plugin.py"], "missing_plugin.py: no such file"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(run, arguments)
    assert result.exit_code == 1
    assert len(result.stderr.strip().splitlines()) == 1
    assert line in result.stderr


def test_outside_a_cluster_something_must_say_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = CliRunner().invoke(run, [])
    assert result.exit_code == 1
    assert "no configuration has been provided" in result.stderr


@pytest.mark.parametrize(
    ("flag", "pod_address", "listens"),
    [
        ("0.0.0.0", "", "0.0.0.0"),
        ("0.0.0.0", "127.9.8.7", "127.9.8.7"),
        ("::", "127.9.8.7", "127.9.8.7"),
        ("127.0.0.1", "127.9.8.7", "127.0.0.1"),
    ],
)
def test_a_pod_of_the_embedded_cluster_listens_on_its_own_address(
    monkeypatch: pytest.MonkeyPatch, flag: str, pod_address: str, listens: str
) -> None:
    monkeypatch.setenv(ADDRESS_VARIABLE, pod_address)
    assert RunOptions(bind_address=flag).listen_address == listens


def test_a_program_of_its_own_has_its_plugins_built_in(tmp_path: Path) -> None:
    class Mine(ScorePlugin):
        def score(self, cycle: CycleState, pod: Pod, node: NodeInfo) -> int:
            return 1

    written = tmp_path / "written.yaml"
    command = new_scheduler_command(Mine)
    result = CliRunner().invoke(command, ["--leader-elect=false", "--write-config-to", str(written)])
    assert result.exit_code == 0, result.output
    assert "Mine" in written.read_text()
    again = CliRunner().invoke(new_scheduler_command(Mine, Mine), ["--write-config-to", str(written)])
    assert again.exit_code == 1
    assert "a plugin named Mine already exists" in again.output


def test_a_dashboard_needs_a_server() -> None:
    with pytest.raises(BadInput, match="--dashboard: there is no server to show it with --secure-port=0"):
        RunOptions(dashboard=True, secure_port=0).check()
    RunOptions(dashboard=True).check()
