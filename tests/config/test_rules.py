"""Defaults and rules of the configuration's own fields and of extenders."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.api.durations import Duration
from moorage.config import ConfigError, expand_all, load, show
from tests.config.samples import IN_TREE, V1, config_of, problems_of, text_of, with_args, with_plugins


def test_defaults() -> None:
    config = config_of()
    assert config.parallelism == 16
    assert config.percentage_of_nodes_to_score == 0
    assert config.pod_initial_backoff_seconds == 1
    assert config.pod_max_backoff_seconds == 10
    assert config.delay_cache_until_active is False
    assert config.enable_profiling is True
    assert config.enable_contention_profiling is True
    assert config.extenders == []
    election = config.leader_election
    assert election.leader_elect is True
    assert (election.lease_duration.seconds, election.renew_deadline.seconds) == (15, 10)
    assert election.retry_period.seconds == 2
    assert (election.resource_lock, election.resource_name) == ("leases", "kube-scheduler")
    assert election.resource_namespace == "kube-system"
    connection = config.client_connection
    assert (connection.kubeconfig, connection.accept_content_types) == ("", "")
    assert connection.content_type == "application/vnd.kubernetes.protobuf"
    assert (connection.qps, connection.burst) == (50, 100)
    (profile,) = config.profiles
    assert profile.scheduler_name == "default-scheduler"
    assert profile.percentage_of_nodes_to_score is None


def test_zero_and_empty_count_as_not_given_where_kubernetes_says_so() -> None:
    config = config_of(
        clientConnection={"qps": 0, "burst": 0, "contentType": ""},
        leaderElection={
            "leaseDuration": "0s",
            "resourceLock": "",
            "resourceName": "",
            "resourceNamespace": "",
        },
        extenders=[{"urlPrefix": "http://x", "httpTimeout": "0s"}],
    )
    usual = config_of()
    assert config.client_connection == usual.client_connection
    assert config.leader_election == usual.leader_election
    assert config.extenders[0].http_timeout == Duration.of_seconds(5)


@pytest.mark.parametrize(
    ("given", "contention"),
    [
        ({}, True),
        ({"enableProfiling": False}, False),
        ({"enableProfiling": False, "enableContentionProfiling": True}, True),
    ],
)
def test_contention_profiling_follows_profiling(given: dict[str, Any], contention: bool) -> None:
    assert config_of(**given).enable_contention_profiling is contention


def test_scheduler_name_is_defaulted_for_a_single_profile_only() -> None:
    assert config_of(profiles=[{}]).profiles[0].scheduler_name == "default-scheduler"
    assert problems_of(profiles=[{"schedulerName": ""}]) == ["profiles[0].schedulerName: Required value"]
    assert problems_of(profiles=[{"schedulerName": "a"}, {}]) == ["profiles[1].schedulerName: Required value"]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({"parallelism": 0}, ["parallelism: Invalid value: 0: should be an integer value greater than zero"]),
        (
            {"percentageOfNodesToScore": 101},
            ["percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"],
        ),
        (
            {"percentageOfNodesToScore": -1},
            ["percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]"],
        ),
        (
            {"podInitialBackoffSeconds": 0},
            ["podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"],
        ),
        (
            {"podInitialBackoffSeconds": 20},
            [
                "podMaxBackoffSeconds: Invalid value: 10: "
                "must be greater than or equal to PodInitialBackoffSeconds"
            ],
        ),
        (
            {"clientConnection": {"burst": -1}},
            ["clientConnection.burst: Invalid value: -1: must be non-negative"],
        ),
        (
            {"leaderElection": {"leaseDuration": "-1s"}},
            [
                'leaderElection.leaseDuration: Invalid value: "-1s": must be greater than zero',
                'leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`',
            ],
        ),
        (
            {"leaderElection": {"renewDeadline": "-1s", "retryPeriod": "-1ms"}},
            [
                'leaderElection.renewDeadline: Invalid value: "-1s": must be greater than zero',
                'leaderElection.retryPeriod: Invalid value: "-1ms": must be greater than zero',
            ],
        ),
        (
            {"leaderElection": {"resourceLock": "configmaps"}},
            ['leaderElection.resourceLock: Invalid value: "configmaps": resourceLock value must be "leases"'],
        ),
        ({"leaderElection": {"leaderElect": False, "resourceLock": "x", "retryPeriod": "-1s"}}, []),
        (
            {"profiles": [{"schedulerName": "a"}, {"schedulerName": "a"}]},
            [
                'profiles[1].schedulerName: Duplicate value: {}: "a" is the name of profiles[0], too; '
                "give each profile its own"
            ],
        ),
        (
            {"profiles": [{"percentageOfNodesToScore": -5}]},
            ["profiles[0].percentageOfNodesToScore: Invalid value: -5: not in valid range [0-100]"],
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": "X"}, {"name": "X"}]}]},
            ['profiles[0].pluginConfig[1]: Duplicate value: "X"'],
        ),
        (
            with_plugins(filter={"enabled": [{"name": "NodeName"}, {"name": "EBSLimits"}]}),
            [
                'profiles[0].plugins.filter.enabled[1]: Invalid value: "EBSLimits": was invalid in '
                'version "v1" '
                f'(KubeSchedulerConfiguration is version "{V1}")'
            ],
        ),
        (
            with_args("CinderLimits", {}),
            [
                'profiles[0].pluginConfig[0]: Invalid value: "CinderLimits": was invalid in version "v1" '
                f'(KubeSchedulerConfiguration is version "{V1}")'
            ],
        ),
        (
            with_plugins(multiPoint={"enabled": [{"name": "EBSLimits"}]}),
            [
                "profiles[0]: initializing profiles: creating profile for scheduler name default-scheduler: "
                'PreFilterPlugin "EBSLimits" does not exist; register it with --plugin, or choose one of '
                "`moorage plugins`"
            ],
        ),
        (
            {
                "profiles": [
                    {"schedulerName": "a"},
                    {"schedulerName": "b", "plugins": {"queueSort": {"enabled": [{"name": "Q"}]}}},
                ]
            },
            [
                'profiles[1].plugins.queueSort: Invalid value: {"Enabled":[{"Name":"Q","Weight":0}],'
                '"Disabled":null}: must be the same for all profiles'
            ],
        ),
        (
            with_plugins(queueSort={"enabled": [{"name": "A"}, {"name": "B"}]}),
            [
                "profiles[0].plugins.queueSort.Enabled: Invalid value: 2: only one queue sort plugin "
                "can be enabled"
            ],
        ),
        (
            {
                "profiles": [
                    {
                        "schedulerName": name,
                        "plugins": {"queueSort": {"enabled": [{"name": "Q"}], "disabled": [{"name": "*"}]}},
                        "pluginConfig": [{"name": "Q", "args": {"for": name}}],
                    }
                    for name in ("a", "b")
                ]
            },
            [
                'profiles[1].pluginConfig.args: Invalid value: {"for":"b"}: queueSort must be the '
                "same for all profiles"
            ],
        ),
        (
            {"extenders": [{"urlPrefix": "http://x", "prioritizeVerb": "p"}]},
            ["extenders[0].weight: Invalid value: 0: must have a positive weight applied to it"],
        ),
        (
            {
                "extenders": [
                    {"urlPrefix": "http://x", "bindVerb": "b"},
                    {"urlPrefix": "http://y", "bindVerb": "b"},
                ]
            },
            [
                'extenders: Invalid value: "found 2 extenders implementing bind": '
                "only one extender can implement bind"
            ],
        ),
        (
            {
                "extenders": [
                    {"urlPrefix": "http://x", "managedResources": [{"name": "a.com/x"}]},
                    {"urlPrefix": "http://y", "managedResources": [{"name": "a.com/x"}]},
                ]
            },
            [
                'extenders[1].managedResources[0].name: Invalid value: "a.com/x": '
                "duplicate extender managed resource name"
            ],
        ),
        (
            {"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": "kubernetes.io/x"}]}]},
            [
                'extenders[0].managedResources[0].name: Invalid value: "kubernetes.io/x": '
                "is an invalid extended resource name"
            ],
        ),
        (
            {"extenders": [{"urlPrefix": "http://x", "managedResources": [{"name": ""}]}]},
            [
                'extenders[0].managedResources[0].name: Invalid value: "": name part must be non-empty',
                'extenders[0].managedResources[0].name: Invalid value: "": name part must consist of '
                "alphanumeric "
                "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
                "(e.g. 'MyName',  "
                "or 'my.name',  or '123-abc', regex used for validation is "
                "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            ],
        ),
    ],
)
def test_rules(fields: dict[str, Any], lines: list[str]) -> None:
    assert problems_of(**fields) == lines


def test_all_broken_rules_come_together() -> None:
    assert len(problems_of(parallelism=0, percentageOfNodesToScore=101, podInitialBackoffSeconds=-1)) == 3


def test_resources_that_extenders_take_care_of_replace_the_ignored_ones() -> None:
    managed = {"name": "a.com/x", "ignoredByScheduler": True}
    extenders = [{"urlPrefix": "http://x", "managedResources": [managed, {"name": "a.com/y"}]}]
    config = config_of(
        extenders=extenders, **with_args("NodeResourcesFit", {"ignoredResources": ["b.com/z"]})
    )
    assert config.profiles[0].args_of("NodeResourcesFit").ignored_resources == ["a.com/x"]
    without_fit = with_plugins(multiPoint={"disabled": [{"name": "NodeResourcesFit"}]})
    with pytest.raises(ConfigError, match="can't find NodeResourcesFitArgs in plugin config"):
        load(text_of(extenders=extenders, **without_fit))


def test_extender_is_shown_with_what_was_given() -> None:
    given = {
        "urlPrefix": "https://x/",
        "bindVerb": "b",
        "enableHTTPS": True,
        "httpTimeout": "1m30s",
        "tlsConfig": {"insecure": True, "caData": "aGVsbG8="},
    }
    config = config_of(extenders=[given])
    tls = config.extenders[0].tls_config
    assert tls is not None
    assert tls.ca_data == b"hello"
    assert show(config)["extenders"] == [given]
    assert show(config_of(extenders=[{}]))["extenders"] == [{"urlPrefix": "", "httpTimeout": "5s"}]


def test_shown_only_when_set() -> None:
    assert "delayCacheUntilActive" not in show(config_of())
    assert show(config_of(delayCacheUntilActive=True))["delayCacheUntilActive"] is True
    assert (
        show(config_of(profiles=[{"percentageOfNodesToScore": 0}]))["profiles"][0]["percentageOfNodesToScore"]
        == 0
    )
    assert show(config_of(clientConnection={"qps": 0.5}))["clientConnection"]["qps"] == 0.5


def test_only_args_of_enabled_plugins_are_shown() -> None:
    config = config_of(
        profiles=[
            {
                "plugins": {
                    "multiPoint": {"disabled": [{"name": "VolumeBinding"}]},
                    "score": {"enabled": [{"name": "Mine", "weight": 2}]},
                },
                "pluginConfig": [
                    {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 5}},
                    {"name": "Nobody", "args": {"x": 1}},
                    {"name": "Mine", "args": {"z": [1]}},
                ],
            }
        ]
    )
    expand_all(config, {**IN_TREE, "Mine": ("score",)})
    args = {entry["name"]: entry["args"] for entry in show(config)["profiles"][0]["pluginConfig"]}
    assert args["Mine"] == {"z": [1]}
    assert "VolumeBinding" not in args
    assert "Nobody" not in args
