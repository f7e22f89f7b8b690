"""`set` and `tolerate`: what they make of a pod, and what they say about what they cannot."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.insight.live.problems import Problem
from moorage.insight.live.set_paths import set_path, toleration


def after(text: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
    changed = {"spec": {"containers": [{"name": "a"}], "priority": 3}} if document is None else document
    set_path(changed, text)
    return changed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spec.priority=10", {"containers": [{"name": "a"}], "priority": 10}),
        ("spec.priority=", {"containers": [{"name": "a"}]}),
        (
            "spec.nodeSelector.zone=a",
            {"containers": [{"name": "a"}], "priority": 3, "nodeSelector": {"zone": "a"}},
        ),
        (
            "spec.containers[0].resources.requests.cpu=1",
            {"containers": [{"name": "a", "resources": {"requests": {"cpu": 1}}}], "priority": 3},
        ),
        ("spec.containers[1].name=b", {"containers": [{"name": "a"}, {"name": "b"}], "priority": 3}),
        ("spec.containers[0]=", {"containers": [], "priority": 3}),
        ("spec={priority: 1}", {"priority": 1}),
    ],
)
def test_what_is_set(text: str, expected: dict[str, Any]) -> None:
    assert after(text) == {"spec": expected}


@pytest.mark.parametrize(
    "quoted", ['metadata.labels."app.io/name"=a=b', "metadata.labels['app.io/name']=a=b"]
)
def test_names_with_dots_are_quoted(quoted: str) -> None:
    assert after(quoted, {}) == {"metadata": {"labels": {"app.io/name": "a=b"}}}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("spec.priority", "it has no `=`; write it like spec.priority=10"),
        ("=1", "the path cannot be read; write it like spec.containers[0].resources.requests.cpu=1"),
        ("spec.containers[x]=1", "the path cannot be read"),
        ("spec.containers[7].name=a", "[7] is not there"),
        ("spec.containers.name=a", "name is not there"),
        ("spec.priority.low=a", "low is not there"),
        ("spec.priority={", "the value is no YAML"),
    ],
)
def test_what_cannot_be_set(text: str, why: str) -> None:
    with pytest.raises(Problem) as raised:
        after(text)
    assert raised.value.code == 400
    assert raised.value.message.startswith(f"set: {text!r}: {why}")


def test_tolerations() -> None:
    assert toleration("gpu") == {"key": "gpu", "operator": "Exists"}
    assert toleration("gpu=true") == {"key": "gpu", "operator": "Equal", "value": "true"}
    assert toleration("gpu=true:NoSchedule") == {
        "key": "gpu",
        "operator": "Equal",
        "value": "true",
        "effect": "NoSchedule",
    }
    assert toleration("gpu:NoExecute") == {"key": "gpu", "operator": "Exists", "effect": "NoExecute"}
    for wrong in ("", "=true", "gpu=true:Never"):
        with pytest.raises(Problem, match="is no taint; write KEY, KEY=VALUE or KEY=VALUE:EFFECT"):
            toleration(wrong)
