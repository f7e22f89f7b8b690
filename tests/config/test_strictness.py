"""What the decoder refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.points import POINTS
from moorage.config import ConfigError, load, load_file
from tests.config.samples import V1, config_of, problems_of, text_of, with_args, with_plugins

FIELDS = (
    "apiVersion, kind, parallelism, leaderElection, clientConnection, enableProfiling, "
    "enableContentionProfiling, percentageOfNodesToScore, podInitialBackoffSeconds, podMaxBackoffSeconds, "
    "profiles, extenders, delayCacheUntilActive"
)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"foo": 1}, f'foo: strict decoding error: unknown field "foo"; known are {FIELDS}'),
        (
            {"Parallelism": 1},
            'Parallelism: strict decoding error: unknown field "Parallelism"; did you mean "parallelism"?',
        ),
        (
            {"leaderElect": True},
            'leaderElect: strict decoding error: unknown field "leaderElect"; did you mean "leaderElection"?',
        ),
        (
            with_plugins(foo={}),
            'profiles[0].plugins.foo: strict decoding error: unknown field "profiles[0].plugins.foo"; '
            f"known are multiPoint, {', '.join(POINTS)}",
        ),
        (
            with_args("NodeResourcesFit", {"scoringStrategy": {"typ": 1}}),
            "profiles[0].pluginConfig[0].args.scoringStrategy.typ: strict decoding error: decoding "
            ".profiles[0].pluginConfig[0]: strict decoding error: decoding args for plugin NodeResourcesFit: "
            'strict decoding error: unknown field "scoringStrategy.typ"; did you mean "type"?',
        ),
        (
            with_args("NodeAffinity", {"kind": "InterPodAffinityArgs"}),
            "profiles[0].pluginConfig[0].args: decoding .profiles[0].pluginConfig[0]: args for "
            "plugin NodeAffinity "
            "were not of type NodeAffinityArgs.kubescheduler.config.k8s.io, got "
            "InterPodAffinityArgs.kubescheduler.config.k8s.io",
        ),
        (
            with_args("NodeAffinity", {"apiVersion": "kubescheduler.config.k8s.io/v1beta3"}),
            "profiles[0].pluginConfig[0].args: decoding .profiles[0].pluginConfig[0]: decoding args "
            "for plugin "
            'NodeAffinity: no kind "NodeAffinityArgs" is registered for version '
            f'"kubescheduler.config.k8s.io/v1beta3"; write {V1}, NodeAffinityArgs',
        ),
        (
            {"parallelism": "16"},
            "parallelism: json: cannot unmarshal string into Go struct field "
            "KubeSchedulerConfiguration.parallelism of type int32 "
            "(want a whole number between -2147483648 and 2147483647)",
        ),
        (
            {"parallelism": 2**31},
            "parallelism: json: cannot unmarshal number 2147483648 into Go struct field "
            "KubeSchedulerConfiguration.parallelism of type int32 "
            "(want a whole number between -2147483648 and 2147483647)",
        ),
        (
            {"podMaxBackoffSeconds": 10**30},
            "podMaxBackoffSeconds: json: cannot unmarshal number 1000000000000000000000000000000 "
            "into Go struct "
            "field KubeSchedulerConfiguration.podMaxBackoffSeconds of type int64 (want a whole number)",
        ),
        (
            {"parallelism": 1.5},
            "parallelism: json: cannot unmarshal number 1.5 into Go struct field "
            "KubeSchedulerConfiguration.parallelism of type int32 "
            "(want a whole number between -2147483648 and 2147483647)",
        ),
        (
            {"enableProfiling": 1},
            "enableProfiling: json: cannot unmarshal number into Go struct field "
            "KubeSchedulerConfiguration.enableProfiling of type bool (want true or false)",
        ),
        (
            {"profiles": {}},
            "profiles: json: cannot unmarshal object into Go struct field "
            "KubeSchedulerConfiguration.profiles "
            "of type []v1.KubeSchedulerProfile (want a list)",
        ),
        (
            {"leaderElection": []},
            "leaderElection: json: cannot unmarshal array into Go struct field "
            "KubeSchedulerConfiguration.leaderElection of type v1alpha1.LeaderElectionConfiguration "
            "(want a mapping)",
        ),
        (
            {"profiles": ["x"]},
            "profiles[0]: json: cannot unmarshal string into Go struct field "
            "KubeSchedulerConfiguration.profiles "
            "of type v1.KubeSchedulerProfile (want a mapping)",
        ),
        (
            with_plugins(score={"enabled": [{"name": "NodeName", "weight": "2"}]}),
            "profiles[0].plugins.score.enabled[0].weight: json: cannot unmarshal string into Go struct field "
            "Plugin.profiles.plugins.score.enabled.weight of type int32 "
            "(want a whole number between -2147483648 and 2147483647)",
        ),
        (
            with_plugins(score={"enabled": {"name": "NodeName"}}),
            "profiles[0].plugins.score.enabled: json: cannot unmarshal object into Go struct field "
            "PluginSet.profiles.plugins.score.enabled of type []v1.Plugin (want a list)",
        ),
        (
            {"clientConnection": {"kubeconfig": 5, "qps": "x"}},
            "clientConnection.kubeconfig: json: cannot unmarshal number into Go struct field "
            "ClientConnectionConfiguration.clientConnection.kubeconfig of type string "
            "(want text; put it in quotes)",
        ),
        (
            {"leaderElection": {"leaseDuration": 15}},
            "leaderElection.leaseDuration: json: cannot unmarshal number into Go struct field "
            "LeaderElectionConfiguration.leaderElection.leaseDuration of type string (want a "
            'duration such as "15s")',
        ),
        (
            {"leaderElection": {"leaseDuration": "15"}},
            'leaderElection.leaseDuration: time: missing unit in duration "15" (want a duration such '
            'as "15s")',
        ),
        (
            {"extenders": [{"tlsConfig": {"caData": "???"}}]},
            "extenders[0].tlsConfig.caData: illegal base64 data (want text in base64)",
        ),
        (
            with_args("NodeAffinity", []),
            "profiles[0].pluginConfig[0].args: decoding .profiles[0].pluginConfig[0]: decoding args "
            "for plugin "
            "NodeAffinity: json: cannot unmarshal array into Go value of type v1.NodeAffinityArgs "
            "(want a mapping)",
        ),
    ],
)
def test_wrong_fields_and_types(fields: dict[str, Any], line: str) -> None:
    assert line in problems_of(**fields)


def test_all_decoding_problems_come_together() -> None:
    fields = {"foo": 1, "parallelism": "x", **with_plugins(bar={}, score={"enabled": [{"nam": 1}]})}
    paths = [line.partition(": ")[0] for line in problems_of(**fields)]
    assert paths == [
        "foo",
        "parallelism",
        "profiles[0].plugins.bar",
        "profiles[0].plugins.score.enabled[0].nam",
    ]


def test_repeated_key_names_path_and_line() -> None:
    text = text_of() + "leaderElection:\n  leaderElect: true\n  leaderElect: false\n"
    assert problems_of(text) == [
        'leaderElection.leaderElect: strict decoding error: line 5: key "leaderElect" already set in map'
    ]


@pytest.mark.parametrize("number", [".nan", ".inf", "-.inf"])
def test_numbers_that_json_lacks(number: str) -> None:
    (line,) = problems_of(text_of() + f"clientConnection: {{qps: {number}}}\n")
    assert line.startswith("clientConnection.qps: json: unsupported value: ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "<config>: the file is empty; begin the file with"),
        ("# only a comment\n", "<config>: the file is empty; begin the file with"),
        ("- a\n", '<config>: must be a mapping, got ["a"]; begin the file with'),
        ("just text", '<config>: must be a mapping, got "just text"; begin the file with'),
        ("a: b: c", "<config>: not valid YAML or JSON: line 1, column 5: mapping values are not allowed"),
        (b"\x00\x01", "<config>: not valid YAML or JSON: not text: "),
        ("kind: KubeSchedulerConfiguration", "<config>: Object 'apiVersion' is missing; begin the file with"),
        (f"apiVersion: {V1}", "<config>: Object 'kind' is missing; begin the file with"),
        (
            "apiVersion: v1\nkind: Pod",
            "kind: couldn't decode as KubeSchedulerConfiguration, got v1, Kind=Pod; begin the file with",
        ),
        ("apiVersion: 1\nkind: KubeSchedulerConfiguration", "apiVersion: must be text, got 1"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1alpha1\nkind: KubeSchedulerConfiguration",
            'apiVersion: no kind "KubeSchedulerConfiguration" is registered for version '
            '"kubescheduler.config.k8s.io/v1alpha1"; write kubescheduler.config.k8s.io/v1',
        ),
    ],
)
def test_files_that_are_no_configuration(text: str | bytes, line: str) -> None:
    (said,) = problems_of(text)
    assert said.startswith(line)


def test_missing_file_and_folder(tmp_path: Any) -> None:
    missing = tmp_path / "none.yaml"
    with pytest.raises(ConfigError) as caught:
        load_file(missing)
    assert str(caught.value) == f"{missing}: cannot read the file: No such file or directory; check the path"
    with pytest.raises(ConfigError, match="cannot read the file: Is a directory"):
        load_file(tmp_path)


def test_null_is_absent_everywhere() -> None:
    fields: dict[str, Any] = {
        "parallelism": None,
        "leaderElection": {"leaseDuration": None, "leaderElect": None},
        "clientConnection": None,
        "enableProfiling": None,
        "extenders": None,
        "profiles": [
            {
                "schedulerName": None,
                "percentageOfNodesToScore": None,
                "plugins": {"score": None, "filter": {"enabled": None, "disabled": None}},
                "pluginConfig": [
                    {"name": "NodeResourcesFit", "args": None},
                    {"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": None}},
                    {"name": "DynamicResources", "args": {"filterTimeout": None}},
                    {"name": "PodTopologySpread", "args": {"defaultConstraints": None}},
                ],
            }
        ],
    }
    config = config_of(**fields)
    plain = config_of()
    plain.profiles[0].plugin_config.sort(key=lambda entry: entry.name)
    config.profiles[0].plugin_config.sort(key=lambda entry: entry.name)
    assert config == plain
    assert config_of(profiles=None) == config_of(profiles=[]) == config_of(profiles=[None]) == config_of()


def test_only_the_first_document_is_read() -> None:
    loaded = load(text_of(parallelism=3) + "---\nnonsense: true\n", source="s.yaml")
    assert loaded.config.parallelism == 3
    assert loaded.warnings == ["s.yaml: only the first YAML document is read"]


def test_args_of_unknown_plugins_are_kept_as_they_are() -> None:
    args = {"anything": [1, {"apiVersion": "x/v1", "kind": 3}], "when": "2001-12-14"}
    config = config_of(**with_args("NoSuchPlugin", args))
    assert config.profiles[0].args_of("NoSuchPlugin") == args
    assert config_of(**with_args("NoSuchPlugin", None)).profiles[0].args_of("NoSuchPlugin") is None
    assert config_of(**with_args("NoSuchPlugin", "text")).profiles[0].args_of("NoSuchPlugin") == "text"


def test_args_may_carry_their_kind() -> None:
    args = {"apiVersion": V1, "kind": "InterPodAffinityArgs", "hardPodAffinityWeight": 7}
    found = config_of(**with_args("InterPodAffinity", args)).profiles[0].args_of("InterPodAffinity")
    assert found.hard_pod_affinity_weight == 7
