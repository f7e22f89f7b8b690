"""Configuration files whose outcome was recorded from kube-scheduler v1.36.4."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.config import ConfigError, expand_all, load, show
from moorage.config.show import to_yaml
from tests.config.samples import IN_TREE

RECORDED = Path(__file__).parent.parent / "golden" / "data" / "configfile.jsonl.gz"
# Where in its source the reference keeps the version table is no part of the message to match.
SCHEME = ' in scheme "pkg/scheduler/apis/config/scheme/scheme.go:29"'


def cases() -> list[Any]:
    with gzip.open(RECORDED, "rt") as lines:
        return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


@pytest.mark.parametrize("as_text", [json.dumps, yaml.safe_dump], ids=["json", "yaml"])
@pytest.mark.parametrize("case", cases())
def test_outcome_is_the_recorded_one(case: dict[str, Any], as_text: Any) -> None:
    text = as_text(case["input"])
    if "error" in case:
        with pytest.raises(ConfigError) as caught:
            expand_all(load(text).config, IN_TREE)
        for recorded in said(case["error"]):
            assert recorded in str(caught.value)
        return
    loaded = load(text)
    assert loaded.warnings == []
    expand_all(loaded.config, IN_TREE)
    shown = show(loaded.config)
    shown["clientConnection"]["kubeconfig"] = ""
    assert shown == case["expected"]
    assert [config["name"] for config in shown["profiles"][0]["pluginConfig"]] == [
        config["name"] for config in case["expected"]["profiles"][0]["pluginConfig"]
    ]


@pytest.mark.parametrize("case", [case for case in cases() if "expected" in case.values[0]])
def test_what_is_shown_is_read_back_unchanged(case: dict[str, Any]) -> None:
    assert show(load(to_yaml(case["expected"])).config) == case["expected"]


def said(error: str) -> list[str]:
    """The single messages of a recorded error, whole."""
    error = error.removesuffix(SCHEME)
    if error.startswith("[") and error.endswith("]"):
        return error[1:-1].split(", ")
    return [error]
