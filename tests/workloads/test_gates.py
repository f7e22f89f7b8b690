"""The feature gates of pod groups, on command lines and in configurations."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from moorage.cli.up import up
from moorage.config import load
from moorage.config.feature_gates import FeatureGateError, FeatureGates
from moorage.scheduler.profiles import DEFAULT_CONFIGURATION
from tests.workloads.group_worlds import GANGS, GROUPS, TOPOLOGY

ALONE = "is enabled, but depends on features that are disabled: "


@pytest.mark.parametrize(
    ("gates", "told"),
    [
        ("GangScheduling=true", f"GangScheduling {ALONE}[GenericWorkload]"),
        ("TopologyAwareWorkloadScheduling=true", f"TopologyAwareWorkloadScheduling {ALONE}[GenericWorkload]"),
        ("DRAWorkloadResourceClaims=true", f"DRAWorkloadResourceClaims {ALONE}[GenericWorkload]"),
        (f"{GROUPS},WorkloadAwarePreemption=true", f"WorkloadAwarePreemption {ALONE}[GangScheduling]"),
    ],
)
def test_gates_that_need_others(gates: str, told: str) -> None:
    with pytest.raises(FeatureGateError) as raised:
        FeatureGates(gates)
    assert str(raised.value) == told
    refused = CliRunner().invoke(up, [f"--feature-gates={gates}"])
    assert (refused.exit_code, refused.output) == (1, f"--feature-gates: {told}\n")


@pytest.mark.parametrize(
    ("gates", "plugins"),
    [
        ("", []),
        (GROUPS, []),
        (GANGS, ["GangScheduling"]),
        (TOPOLOGY, ["GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"]),
    ],
)
def test_plugins_that_gates_add_behind_the_others(gates: str, plugins: list[str]) -> None:
    config = load(DEFAULT_CONFIGURATION, gates=FeatureGates(gates)).config
    names = [ref.name for ref in config.profiles[0].plugins.multi_point.enabled]
    assert names[names.index("NodeDeclaredFeatures") + 1 :] == plugins


def test_a_profile_can_do_without_them() -> None:
    disabled = "profiles: [{plugins: {multiPoint: {disabled: [{name: GangScheduling}]}}}]\n"
    config = load(DEFAULT_CONFIGURATION + disabled, gates=FeatureGates(GANGS)).config
    assert "GangScheduling" not in {ref.name for ref in config.profiles[0].plugins.multi_point.enabled}


def test_they_are_off_and_no_warning_is_due_when_they_are_on() -> None:
    names = (
        "GenericWorkload",
        "GangScheduling",
        "TopologyAwareWorkloadScheduling",
        "WorkloadAwarePreemption",
        "DRAWorkloadResourceClaims",
    )
    assert not any(map(FeatureGates().enabled, names))
    assert FeatureGates(",".join(f"{name}=true" for name in names)).warnings() == []
