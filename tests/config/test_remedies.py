"""Wrong names and choices: what is said beside kube-scheduler's words, and where the mistake is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.config.feature_gates import FeatureGateError, FeatureGates
from tests.cli.running import refused, run, write_plugin
from tests.config.samples import text_of, with_args, with_plugins


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scheduler.yaml"


CONSTRAINT = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "Never"}
TERM = {"matchExpressions": [{"key": "a", "operator": "Is"}]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "field": ({"profils": []}, 'unknown field "profils"; did you mean "profiles"?'),
    "field, nothing like it": (
        {"leaderElection": {"nonsense": 1}},
        'unknown field "leaderElection.nonsense"; known are leaderElect, leaseDuration, renewDeadline, '
        "retryPeriod, resourceLock, resourceName, resourceNamespace",
    ),
    "field in another case": ({"ParalleLism": 1}, '"ParalleLism"; did you mean "parallelism"?'),
    "extension point": (
        with_plugins(fliter={"enabled": [{"name": "NodeName"}]}),
        'unknown field "profiles[0].plugins.fliter"; did you mean "filter"?',
    ),
    "extension point, nothing like it": (
        with_plugins(nonsense={"enabled": []}),
        '"profiles[0].plugins.nonsense"; known are multiPoint, ',
    ),
    "field of args": (
        with_args("InterPodAffinity", {"hardPodAfinityWeight": 1}),
        'unknown field "hardPodAfinityWeight"; did you mean "hardPodAffinityWeight"?',
    ),
    "plugin": (
        with_plugins(score={"enabled": [{"name": "NodeAfinity"}]}),
        'ScorePlugin "NodeAfinity" does not exist; did you mean "NodeAffinity"?',
    ),
    "plugin at all points": (
        with_plugins(multiPoint={"enabled": [{"name": "imagelocality"}]}),
        'PreFilterPlugin "imagelocality" does not exist; did you mean "ImageLocality"?',
    ),
    "plugin, nothing like it": (
        with_plugins(score={"enabled": [{"name": "Mine"}]}),
        'ScorePlugin "Mine" does not exist; register it with --plugin, or choose one of `moorage plugins`',
    ),
    "plugin at the wrong point": (
        with_plugins(filter={"enabled": [{"name": "ImageLocality"}]}),
        'plugin "ImageLocality" does not extend FilterPlugin plugin; it extends score',
    ),
    "scheduler name": (
        {"profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}, {"schedulerName": "a"}]},
        'profiles[2].schedulerName: Duplicate value: {}: "a" is the name of profiles[0], too; '
        "give each profile its own",
    ),
    "scoring strategy": (
        with_args("NodeResourcesFit", {"scoringStrategy": {"type": "Least"}}),
        'supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
    ),
    "operator": (
        with_args("NodeAffinity", {"addedAffinity": REQUIRED}),
        'supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
    ),
    "action": (
        with_args("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [CONSTRAINT]}),
        'supported values: "DoNotSchedule", "ScheduleAnyway"',
    ),
    "defaulting type": (
        with_args("PodTopologySpread", {"defaultingType": "All"}),
        'supported values: "System", "List"',
    ),
    "resource lock": ({"leaderElection": {"resourceLock": "endpoints"}}, 'must be "leases"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_file_and_the_right_choices_are_named(case: str, file: Path) -> None:
    fields, said = WRONG[case]
    file.write_text(text_of(**fields))
    for command in (
        ("config", "validate", file),
        ("config", "view", file),
        ("config", "convert", file),
        ("simulate", "--nodes", "1", "--pods", "1", "--config", file),
        ("manifests", "--config", file),
        ("run", "--config", file, "--leader-elect=false"),
        ("up", "--config", file),
    ):
        line = refused(run(*command))
        assert line.startswith(f"{file}: ")
        assert said in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [b", "not valid YAML or JSON: line "),
        ("", "the file is empty"),
        ("apiVersion: v7\nkind: KubeSchedulerConfiguration\n", "apiVersion: no kind "),
        ("apiVersion: v1\nkind: Pod\n", "kind: couldn't decode as "),
    ],
)
def test_the_file_is_named_once(text: str, said: str, file: Path) -> None:
    file.write_text(text)
    line = refused(run("config", "validate", file))
    assert line.startswith(f"{file}: {said}")


def test_every_problem_names_the_file(file: Path) -> None:
    file.write_text(text_of(parallelism=0, percentageOfNodesToScore=-1))
    lines = run("config", "validate", file).stderr.splitlines()
    assert lines == [
        f"{file}: parallelism: Invalid value: 0: should be an integer value greater than zero",
        f"{file}: percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100]",
    ]
    lines = run("config", "validate", "-", input=file.read_text()).stderr.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["<stdin>", "<stdin>"]


def test_names_that_kube_scheduler_lets_pass_are_warned_of(file: Path, tmp_path: Path) -> None:
    plugins = {"score": {"disabled": [{"name": "ImageLocalty"}, {"name": "*"}]}}
    configs = [{"name": "Quiett", "args": {}}, {"name": "Other"}, {"name": "NodeAffinity"}]
    file.write_text(text_of(profiles=[{"plugins": plugins, "pluginConfig": configs}]))
    mine = write_plugin(tmp_path / "quiet.py")
    result = run("config", "validate", file, "--plugin", mine)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "Warning: plugin Quiet is registered, but no profile enables it",
        f"Warning: {file}: profiles[0].plugins.score.disabled[0]: no plugin is called ImageLocalty; "
        'did you mean "ImageLocality"?',
        f'Warning: {file}: profiles[0].pluginConfig[0]: no plugin is called Quiett; did you mean "Quiet"?',
        f"Warning: {file}: profiles[0].pluginConfig[1]: no plugin is called Other",
    ]
    for command in (("simulate", "--nodes", "1", "--pods", "1"), ("manifests",)):
        result = run(*command, "--config", file)
        assert result.exit_code == 0
        assert 'did you mean "ImageLocality"?' in result.stderr


def test_feature_gates() -> None:
    with pytest.raises(FeatureGateError) as raised:
        FeatureGates("PodLevelResource=true")
    said = 'unrecognized feature gate: PodLevelResource; did you mean "PodLevelResources"?'
    assert str(raised.value) == said
