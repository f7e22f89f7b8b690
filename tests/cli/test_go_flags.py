"""The command line of `moorage run`: how flags are read, and how they are shown."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from moorage import __version__
from moorage.cli.go_flags import KubeFlags, kube_flag, shown
from moorage.cli.kube_flags import KUBE_FLAGS
from moorage.cli.run import run
from moorage.cli.running.options import RunOptions
from moorage.cli.setup import BadInput
from moorage.version import build_info, report_as

VERSION = f"v1.36.4+moorage.{__version__}"


def read(*args: str) -> dict[str, Any]:
    """The flags that were given, as the command gets them."""
    found: dict[str, Any] = {}

    @click.command(cls=KubeFlags)
    @click.option("--own", is_flag=True)
    def command(**flags: Any) -> None:
        found.update({name: value for name, value in flags.items() if value is not None})
        if not found["own"]:
            del found["own"]

    for name in KUBE_FLAGS:
        if name != "help":
            command = kube_flag(name)(command)
    result = CliRunner().invoke(command, args)
    assert result.exit_code == 0, result.output
    return found


@pytest.mark.parametrize(
    ("args", "flags"),
    [
        (["--leader-elect", "--config", "x"], {"leader_elect": True, "config": "x"}),
        (["--leader_elect=f", "--own"], {"leader_elect": False, "own": True}),
        (["--config", "--leader-elect", "--own"], {"config": "--leader-elect", "own": True}),
        (["--config=a_b", "--kubeconfig", "--x_y"], {"config": "a_b", "kubeconfig": "--x_y"}),
        (["-v", "5", "--secure-port=0x10"], {"verbosity": 5, "secure_port": 16}),
        (["-v=7"], {"verbosity": 7}),
        (
            ["--feature-gates=A=true", "--feature-gates", "kube:B=false,C=1"],
            {"feature_gates": "A=true,kube:B=false,C=1"},
        ),
        (["--bind-address=::"], {"bind_address": "::"}),
        (["--kube-api-qps=1e3"], {"kube_api_qps": 1000.0}),
        (["--allow-metric-labels=a,b='1,2'"], {"allow_metric_labels": "a,b='1,2'"}),
        (["--authorization-always-allow-paths="], {"authorization_always_allow_paths": ""}),
        (["--version"], {"version": "true"}),
        (["--version=raw"], {"version": "raw"}),
        (["--vmodule=a=1,b*=2", "--vmodule=c=3"], {"vmodule": "a=1,b*=2,c=3"}),
    ],
)
def test_how_flags_are_read(args: list[str], flags: dict[str, Any]) -> None:
    assert read(*args) == flags


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--nonsense"], "No such option '--nonsense'; `run --help` tells the flags"),
        (["--leader-elect", "false"], "Got unexpected extra argument (false); `run --help` tells the flags"),
        (["--", "--config"], "Got unexpected extra argument (--config); `run --help` tells the flags"),
        (
            ["--leader-elect=yes"],
            "Invalid value for '--leader-elect': \"yes\" will not do; write true or false",
        ),
        (["--kube-api-burst=2147483648"], '"2147483648" will not do; write a whole number'),
        (["--bind-address=localhost"], '"localhost" will not do; write an IP address such as 0.0.0.0'),
        (["-v=-1"], '"-1" will not do; write a whole number from 0 on'),
        (["--vmodule=a"], '"a" will not do; write pattern=N pairs'),
        (["--log-text-info-buffer-size=much"], '"much" will not do; write it like 512 or 4Ki'),
        (["--log-flush-frequency=often"], '"often" will not do; write it like 30s or 1m30s'),
        (["--tls-curve-preferences=x"], '"x" will not do; write numbers with commas between them'),
    ],
)
def test_what_cannot_be_read_is_one_line_and_exit_code_1(args: list[str], said: str) -> None:
    result = CliRunner().invoke(run, args)
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    assert line.startswith("Error: ")
    assert line.endswith(said)


def test_flags_are_shown_as_go_shows_them() -> None:
    given = read(
        "--leader-elect=0",
        "--leader-elect-lease-duration=90s",
        "--kube-api-qps=100.50",
        "--feature-gates=kube:B=true,A=true,kube:A=1",
        "--disabled-metrics=a,b",
        "--secure-port=0",
        "-v=3",
    )
    values = shown(given)
    assert values.keys() == KUBE_FLAGS.keys()
    assert {name: values[name] for name in ("leader-elect", "kube-api-qps", "secure-port", "v")} == {
        "leader-elect": "false",
        "kube-api-qps": "100.5",
        "secure-port": "0",
        "v": "3",
    }
    assert values["leader-elect-lease-duration"] == "1m30s"
    assert values["feature-gates"] == ":A=true,kube:B=true,kube:A=1"
    assert values["disabled-metrics"] == "[a,b]"
    assert values["leader-elect-retry-period"] == "2s"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (RunOptions(log_text_split_stream=True), "--log-text-split-stream: Feature LoggingAlphaOptions is"),
        (RunOptions(log_json_info_buffer_size="1Ki"), "--log-json-info-buffer-size: Feature LoggingAlpha"),
        (RunOptions(log_flush_frequency="0s"), "--log-flush-frequency: 0s: Must be greater than zero"),
        (RunOptions(logging_format="json", vmodule="a=1"), "--vmodule: Only supported for text log format"),
        (
            RunOptions(logging_format="json", feature_gates="LoggingBetaOptions=false"),
            "--logging-format: Log format json is disabled, see LoggingBetaOptions feature",
        ),
        (RunOptions(secure_port=-1), "--secure-port -1 must be between 0 and 65535"),
        (RunOptions(show_hidden_metrics_for_version="1.30"), "must be omitted or have the value '1.35'"),
        (RunOptions(feature_gates="Nope=true"), "--feature-gates: unrecognized feature gate: Nope"),
        (RunOptions(emulated_version="2.0"), "--emulated-version: emulation version 2.0 is not between"),
    ],
)
def test_what_is_refused_before_anything_is_begun(options: RunOptions, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        options.check()


def test_with_its_gate_logs_may_be_split() -> None:
    RunOptions(
        log_text_split_stream=True,
        log_text_info_buffer_size="4Ki",
        feature_gates="LoggingAlphaOptions=true",
    ).check()


@pytest.mark.parametrize("flags", [["--version"], ["-v=5", "-version"]])
def test_the_version_can_be_asked_for(flags: list[str]) -> None:
    result = CliRunner().invoke(run, flags)
    assert (result.exit_code, result.output) == (0, f"Kubernetes {VERSION}\n")


def test_the_version_in_all_detail() -> None:
    text = CliRunner().invoke(run, ["--version=raw"]).output
    assert text.startswith('version.Info{Major:"1", Minor:"36", EmulationMajor:"", ')
    assert f'GitVersion:"{VERSION}"' in text


def test_another_version_can_be_reported() -> None:
    try:
        report_as("v1.36.4-mine+1")
        assert build_info()["gitVersion"] == "v1.36.4-mine+1"
    finally:
        report_as(VERSION)
    result = CliRunner().invoke(run, ["--version=v1.36.5"])
    assert result.exit_code == 1
    said = f'--version: version "v1.36.5" must match major/minor/patch of default version "{VERSION}"'
    assert result.stderr == f"{said}\n"
