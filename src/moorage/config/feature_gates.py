"""Feature gates: what kube-scheduler's --feature-gates takes, and which gates are on.

All gates of kube-scheduler are known. Most of them switch nothing in Moorage, which works as kube-scheduler
does with the defaults; `HEEDED` has those that do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from moorage.api import booleans
from moorage.config.remedies import did_you_mean
from moorage.version import KUBERNETES_MINOR

GENERIC_WORKLOAD = "GenericWorkload"
GANG_SCHEDULING = "GangScheduling"
TOPOLOGY_AWARE_WORKLOADS = "TopologyAwareWorkloadScheduling"
WORKLOAD_AWARE_PREEMPTION = "WorkloadAwarePreemption"
WORKLOAD_CLAIMS = "DRAWorkloadResourceClaims"

HEEDED = frozenset(
    (
        "ComponentFlagz",
        "ComponentStatusz",
        "LoggingAlphaOptions",
        "LoggingBetaOptions",
        GENERIC_WORKLOAD,
        GANG_SCHEDULING,
        TOPOLOGY_AWARE_WORKLOADS,
        WORKLOAD_AWARE_PREEMPTION,
        WORKLOAD_CLAIMS,
    )
)
"""The gates that change what Moorage does."""

_DATA = Path(__file__).parent / "data" / "feature_gates.txt"
_COMPONENT = "kube"
_WHOLE_STAGES = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


class FeatureGateError(Exception):
    """Gates or versions that kube-scheduler would refuse, in its words; `flag` is where they were given."""

    def __init__(self, flag: str, problems: str | list[str]) -> None:
        if isinstance(problems, list):
            problems = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        super().__init__(problems)
        self.flag = flag


class Version(NamedTuple):
    """A minor version."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class Stage(NamedTuple):
    """What a gate is from some version on."""

    since: Version
    name: str
    default: bool
    locked: bool = False
    compatible_with: Version | None = None
    """It counts only if no component of the control plane is older."""


class Gate(NamedTuple):
    """A gate as it stands; its stage is as metrics show it, empty for GA."""

    name: str
    stage: str
    enabled: bool


CURRENT = Version(*map(int, KUBERNETES_MINOR.split(".")))
OLDEST = Version(1, 33)
"""The oldest version that can be emulated."""

_NOT_YET = Stage(Version(0, 0), "PRE-ALPHA", default=False)


class FeatureGates:
    """The gates of one process."""

    def __init__(
        self, gates: str = "", emulated_version: str = "", min_compatibility_version: str = ""
    ) -> None:
        """Each text is the value of a flag; what kube-scheduler would refuse raises FeatureGateError."""
        self.emulated = _version("emulated-version", emulated_version) or CURRENT
        self._oldest_component = _version("min-compatibility-version", min_compatibility_version) or max(
            Version(self.emulated.major, self.emulated.minor - 1), OLDEST
        )
        self._stages = {name: self._stage_of(stages) for name, stages in _history().items()}
        self.given = _given(gates)
        self._refuse_impossible()
        self._on = self._switched()
        self._refuse_unmet_needs()
        self._refuse_versions()

    @property
    def oldest_component(self) -> Version:
        """The oldest version that a component of the control plane may have."""
        return self._oldest_component

    def enabled(self, name: str) -> bool:
        return self._on[name]

    def all(self) -> Iterator[Gate]:
        """Every gate that there is in the emulated version, by name."""
        for name in sorted(self._stages):
            stage = self._stages[name]
            if stage is not _NOT_YET:
                yield Gate(name, "" if stage.name == "GA" else stage.name, self._on[name])

    def warnings(self) -> list[str]:
        """What was asked for and has no effect here, or will have none in a later version."""
        found = []
        for name, value in self.given.items():
            stage = self._stages[name]
            if name in _WHOLE_STAGES:
                heeded = sorted(each for each in HEEDED if self._stages[each].name == _WHOLE_STAGES[name])
                found.append(f"--feature-gates: {name} has no effect but on {', '.join(heeded) or 'nothing'}")
            elif name not in HEEDED and value != stage.default:
                found.append(f"--feature-gates: {name}={_text(value)} has no effect")
            elif stage.name in ("GA", "DEPRECATED"):
                kind = "GA" if stage.name == "GA" else "deprecated"
                found.append(f"--feature-gates: {name} is {kind} and will be removed in a future release")
        if self.emulated != CURRENT:
            found.append(
                f"--emulated-version: pods are scheduled as by {CURRENT}; only feature gates are those of "
                f"{self.emulated}"
            )
        return found

    def _stage_of(self, stages: Iterable[Stage]) -> Stage:
        for stage in reversed([*stages]):
            if stage.since <= self.emulated and (
                stage.compatible_with is None or stage.compatible_with <= self._oldest_component
            ):
                return stage
        return _NOT_YET

    def _refuse_impossible(self) -> None:
        problems = []
        for name, value in self.given.items():
            stage = self._stages.get(name)
            if stage is None:
                remedy = did_you_mean(name, self._stages)
                raise FeatureGateError("feature-gates", f"unrecognized feature gate: {name}{remedy}")
            wish = f"cannot set feature gate {name} to {_text(value)}, feature is"
            if stage.locked and stage.default != value:
                problems.append(f"{wish} locked to {_text(stage.default)}")
            elif stage is _NOT_YET:
                problems.append(
                    f"{wish} PreAlpha at emulated version {self.emulated}, "
                    f"min compatibility version {self._oldest_component}"
                )
        if problems:
            raise FeatureGateError("feature-gates", problems)

    def _switched(self) -> dict[str, bool]:
        on = {name: stage.default for name, stage in self._stages.items()}
        for whole, stage_name in _WHOLE_STAGES.items():
            if whole in self.given:
                members = [name for name, stage in self._stages.items() if stage.name == stage_name]
                on |= dict.fromkeys(
                    (name for name in members if name not in _WHOLE_STAGES), self.given[whole]
                )
        return on | self.given

    def _refuse_unmet_needs(self) -> None:
        problems = []
        for name, needs in _needs().items():
            missing = [need for need in needs if not self._on[need]]
            if self._on[name] and missing:
                problems.append(
                    f"{name} is enabled, but depends on features that are disabled: [{' '.join(missing)}]"
                )
        if problems:
            raise FeatureGateError("feature-gates", problems)

    def _refuse_versions(self) -> None:
        problems = []
        if not OLDEST <= self.emulated <= CURRENT:
            problems.append(f"emulation version {self.emulated} is not between [{OLDEST}, {CURRENT}.0]")
        if not OLDEST <= self._oldest_component <= self.emulated:
            problems.append(
                f"minCompatibilityVersion version {self._oldest_component} is not between "
                f"[{OLDEST}, {self.emulated}]"
            )
        if problems:
            only_compatibility = OLDEST <= self.emulated <= CURRENT
            flag = "min-compatibility-version" if only_compatibility else "emulated-version"
            raise FeatureGateError(flag, problems)


def _given(text: str) -> dict[str, bool]:
    """`A=true,B=false`, with `kube:` before all of them or before none."""
    found: dict[str, bool] = {}
    components = set()
    for pair in filter(None, text.split(",")):
        component, colon, rest = pair.partition(":")
        components.add(component.strip() if colon else "")
        name, value = _switch((rest if colon else pair).strip())
        found[name] = value
    for component in sorted(components - {"", _COMPONENT}):
        raise FeatureGateError("feature-gates", f"component not registered: {component}")
    if len(components) > 1:
        raise FeatureGateError(
            "feature-gates",
            "set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use",
        )
    return found


def _switch(pair: str) -> tuple[str, bool]:
    name, equals, value = (part.strip() for part in pair.partition("="))
    if not equals:
        remedy = f"write {name}=true or {name}=false"
        raise FeatureGateError("feature-gates", f"missing bool value for {name}; {remedy}")
    try:
        return name, booleans.parse(value)
    except ValueError as error:
        wrong = f"invalid value of {name}={value}, err: {error}"
        raise FeatureGateError("feature-gates", f"{wrong}; write true or false") from None


def _version(flag: str, text: str) -> Version | None:
    """`1.35` or `kube=1.35`."""
    found: Version | None = None
    for part in filter(None, text.split(",")):
        component, equals, version = (each.strip() for each in part.partition("="))
        if equals and component != _COMPONENT:
            raise FeatureGateError(flag, f"component not registered: {component}")
        parsed = _parse_version(flag, version if equals else component)
        if found is not None:
            twice = f"{_COMPONENT}={found} and {_COMPONENT}={parsed}"
            raise FeatureGateError(flag, f"duplicate version flag, {twice}")
        found = parsed
    return found


def _parse_version(flag: str, text: str) -> Version:
    matched = re.match(r"v?(\d+(?:\.\d+)*)", text)
    if matched is None:
        raise FeatureGateError(flag, f'could not parse "{text}" as version')
    parts = matched[1].split(".")
    if len(parts) < 2:
        raise FeatureGateError(flag, f'illegal version string "{text}"')
    for part in parts:
        if part != "0" and part.startswith("0"):
            raise FeatureGateError(flag, f'illegal zero-prefixed version component "{part}" in "{text}"')
    major, minor, *patch = map(int, parts)
    if patch and patch[0]:
        raise FeatureGateError(flag, f"patch version not allowed, got: {_COMPONENT}={matched[1]}")
    return Version(major, minor)


@cache
def _history() -> Mapping[str, list[Stage]]:
    """What each gate was from which version on."""
    found = {
        name: [Stage(Version(0, 0), stage, default=False)] for name, stage in sorted(_WHOLE_STAGES.items())
    }
    for line in _lines():
        if not line.startswith(" "):
            found[line.split()[0]] = stages = []
            continue
        since, name, default, *marks = line.split()
        compatible = next((mark.removeprefix("with=") for mark in marks if mark.startswith("with=")), None)
        stages.append(
            Stage(
                _read(since),
                name,
                default == "on",
                "locked" in marks,
                None if compatible is None else _read(compatible),
            )
        )
    return found


@cache
def _needs() -> Mapping[str, list[str]]:
    """The gates that a gate cannot be on without."""
    names = (line.split() for line in _lines() if not line.startswith(" "))
    return {name: needs for name, *needs in names if needs}


@cache
def _lines() -> list[str]:
    return [line for line in _DATA.read_text().splitlines() if line and not line.startswith("#")]


def _read(version: str) -> Version:
    major, minor = version.split(".")
    return Version(int(major), int(minor))


def _text(value: bool) -> str:
    return "true" if value else "false"
