"""Feature gates as kube-scheduler takes them; what it says was recorded from kube-scheduler v1.36.4."""

from __future__ import annotations

import pytest

from moorage.config.feature_gates import HEEDED, FeatureGateError, FeatureGates


def test_the_defaults_are_those_of_the_release() -> None:
    gates = FeatureGates()
    stages = {gate.name: gate.stage for gate in gates.all()}
    assert len(stages) > 240
    assert (stages["SchedulerQueueingHints"], gates.enabled("SchedulerQueueingHints")) == ("", True)
    assert (stages["NodeDeclaredFeatures"], gates.enabled("NodeDeclaredFeatures")) == ("BETA", True)
    assert (stages["GangScheduling"], gates.enabled("GangScheduling")) == ("ALPHA", False)
    assert (stages["AllowDNSOnlyNodeCSR"], gates.enabled("AllowDNSOnlyNodeCSR")) == ("DEPRECATED", False)
    assert stages.keys() >= HEEDED
    assert gates.warnings() == []


@pytest.mark.parametrize("prefix", ["", "kube:", " kube: "])
def test_gates_are_switched_one_by_one(prefix: str) -> None:
    gates = FeatureGates(
        f"{prefix}GenericWorkload=true,,{prefix} GangScheduling = T ,{prefix}ComponentFlagz=0"
    )
    assert gates.enabled("GangScheduling")
    assert not gates.enabled("ComponentFlagz")
    assert gates.enabled("ComponentStatusz")


def test_the_last_word_on_a_gate_counts() -> None:
    assert not FeatureGates("ComponentFlagz=true,ComponentFlagz=false").enabled("ComponentFlagz")


def test_whole_stages_are_switched_but_for_what_is_said_of_a_gate() -> None:
    gates = FeatureGates("LoggingAlphaOptions=false,AllAlpha=true,ComponentFlagz=false,AllBeta=true")
    assert gates.enabled("GangScheduling")
    assert not gates.enabled("LoggingAlphaOptions")
    assert not gates.enabled("ComponentFlagz")
    assert gates.enabled("SchedulerAsyncAPICalls")
    assert not FeatureGates("AllBeta=false").enabled("ComponentStatusz")
    assert FeatureGates("AllBeta=false").enabled("SchedulerQueueingHints")
    assert not FeatureGates("AllAlpha=true").enabled("SchedulerAsyncAPICalls")


LOCKED = "cannot set feature gate SchedulerQueueingHints to false, feature is locked to true"
NEEDS = "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]"
MIXED = "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"
NOT_A_BOOLEAN = 'strconv.ParseBool: parsing "maybe": invalid syntax'


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ("Nope=true", "unrecognized feature gate: Nope"),
        ("=true", "unrecognized feature gate: "),
        (
            "PodLevelResources",
            "missing bool value for PodLevelResources; write PodLevelResources=true or "
            "PodLevelResources=false",
        ),
        (
            "PodLevelResources=maybe",
            f"invalid value of PodLevelResources=maybe, err: {NOT_A_BOOLEAN}; write true or false",
        ),
        ("SchedulerQueueingHints=false", LOCKED),
        ("GangScheduling=true", NEEDS),
        ("wardle:A=true", "component not registered: wardle"),
        ("kube:PodLevelResources=true,PodLevelResources=true", MIXED),
        (
            "SchedulerQueueingHints=false,PodSchedulingReadiness=false",
            f"[{LOCKED}, {LOCKED.replace('SchedulerQueueingHints', 'PodSchedulingReadiness')}]",
        ),
        (
            "AllAlpha=true,GangScheduling=false",
            "WorkloadAwarePreemption is enabled, but depends on features that are disabled: [GangScheduling]",
        ),
    ],
)
def test_what_is_refused(gates: str, said: str) -> None:
    with pytest.raises(FeatureGateError) as raised:
        FeatureGates(gates)
    assert (raised.value.flag, str(raised.value)) == ("feature-gates", said)


@pytest.mark.parametrize(
    ("emulated", "compatible", "flag", "said"),
    [
        ("1.37", "", "emulated-version", "emulation version 1.37 is not between [1.33, 1.36.0]"),
        ("1.35.2", "", "emulated-version", "patch version not allowed, got: kube=1.35.2"),
        ("abc", "", "emulated-version", 'could not parse "abc" as version'),
        ("1", "", "emulated-version", 'illegal version string "1"'),
        ("01.36", "", "emulated-version", 'illegal zero-prefixed version component "01" in "01.36"'),
        ("wardle=1.35", "", "emulated-version", "component not registered: wardle"),
        ("1.35,1.34", "", "emulated-version", "duplicate version flag, kube=1.35 and kube=1.34"),
        (
            "1.30",
            "",
            "emulated-version",
            "[emulation version 1.30 is not between [1.33, 1.36.0], "
            "minCompatibilityVersion version 1.33 is not between [1.33, 1.30]]",
        ),
        (
            "",
            "1.30",
            "min-compatibility-version",
            "minCompatibilityVersion version 1.30 is not between [1.33, 1.36]",
        ),
        (
            "1.34",
            "kube=1.35",
            "min-compatibility-version",
            "minCompatibilityVersion version 1.35 is not between [1.33, 1.34]",
        ),
    ],
)
def test_versions_that_are_refused(emulated: str, compatible: str, flag: str, said: str) -> None:
    with pytest.raises(FeatureGateError) as raised:
        FeatureGates("", emulated, compatible)
    assert (raised.value.flag, str(raised.value)) == (flag, said)


def test_an_older_version_has_its_own_stages_and_defaults() -> None:
    gates = FeatureGates("", "kube=1.35")
    assert not gates.enabled("ComponentFlagz")
    assert {gate.name: gate.stage for gate in gates.all()}["ComponentFlagz"] == "ALPHA"
    assert gates.warnings() == [
        "--emulated-version: pods are scheduled as by 1.36; only feature gates are those of 1.35"
    ]
    with pytest.raises(FeatureGateError) as raised:
        FeatureGates("GangScheduling=true", "1.33")
    assert str(raised.value) == (
        "cannot set feature gate GangScheduling to true, feature is PreAlpha at emulated version 1.33, "
        "min compatibility version 1.33"
    )


def test_warnings_name_what_has_no_effect() -> None:
    text = "OpportunisticBatching=false,PodLevelResources=true,ComponentFlagz=false,AllAlpha=true"
    assert FeatureGates(text).warnings() == [
        "--feature-gates: OpportunisticBatching=false has no effect",
        "--feature-gates: AllAlpha has no effect but on DRAWorkloadResourceClaims, GangScheduling, "
        "GenericWorkload, LoggingAlphaOptions, TopologyAwareWorkloadScheduling, WorkloadAwarePreemption",
    ]
    assert FeatureGates("SchedulerQueueingHints=true").warnings() == [
        "--feature-gates: SchedulerQueueingHints is GA and will be removed in a future release"
    ]
