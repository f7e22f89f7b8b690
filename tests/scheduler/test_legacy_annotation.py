"""The annotation scheduler.alpha.kubernetes.io/name."""

from __future__ import annotations

import pytest

from moorage.scheduler.legacy_annotation import ANNOTATION, LegacyAnnotation
from moorage.testing import make_pod

POD = make_pod(annotations={ANNOTATION: "custom"})


@pytest.mark.parametrize(
    ("mode", "name"),
    [("ignore", "default-scheduler"), ("warn", "default-scheduler"), ("honor", "custom")],
)
def test_only_honoured_does_it_route_a_pod(mode: str, name: str) -> None:
    assert LegacyAnnotation(mode, {"custom"}).apply(POD).spec.scheduler_name == name
    assert POD.spec.scheduler_name == "default-scheduler"


@pytest.mark.parametrize(
    "pod",
    [
        make_pod(),
        make_pod(annotations={ANNOTATION: "unknown"}),
        make_pod(annotations={ANNOTATION: ""}),
        make_pod(annotations={ANNOTATION: "custom"}, scheduler="other"),
    ],
)
def test_honoured_it_leaves_other_pods_alone(pod: object) -> None:
    legacy = LegacyAnnotation("honor", {"custom"})
    assert legacy.apply(pod) is pod  # type: ignore[arg-type]


@pytest.mark.parametrize(("mode", "warnings"), [("ignore", 0), ("warn", 1), ("honor", 0)])
def test_a_warning_names_the_field_to_set(mode: str, warnings: int, caplog: pytest.LogCaptureFixture) -> None:
    LegacyAnnotation(mode, {"custom"}).appeared(POD)
    assert len(caplog.messages) == warnings
    assert all("set spec.schedulerName" in message for message in caplog.messages)


def test_no_warning_where_both_agree(caplog: pytest.LogCaptureFixture) -> None:
    LegacyAnnotation("warn", ()).appeared(make_pod(annotations={ANNOTATION: "x"}, scheduler="x"))
    assert caplog.messages == []
