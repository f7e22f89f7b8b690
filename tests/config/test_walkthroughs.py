"""Configurations from plugin tutorials, in the versions in which they were written."""

from __future__ import annotations

import pytest

from moorage.config import ConfigError, expand, load
from tests.config.samples import IN_TREE, V1, V1BETA2, V1BETA3

OWN = {
    **IN_TREE,
    "MyScoringPlugin": ("score",),
    "NodeCRDResourceFit": ("preFilter", "filter", "score"),
    "MyPreFilter": ("preFilter",),
    "name-score": ("score",),
}
VERSIONS = pytest.mark.parametrize("version", [V1, V1BETA2, V1BETA3])

MY_SCORE = """
apiVersion: VERSION
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: /home/me/.kube/config}
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled: [{name: MyScoringPlugin, weight: 7}]
  pluginConfig:
  - name: MyScoringPlugin
    args:
      # nothing yet
"""

CRD_FIT = """
apiVersion: VERSION
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: "/home/me/.kube/config"
profiles:
- schedulerName: secondary-scheduler
  plugins:
    filter:
      enabled:
      - name: NodeCRDResourceFit
      disabled:
      - name: "*"
    score:
      enabled:
      - name: NodeCRDResourceFit
      disabled:
      - name: "*"
"""

MY_PRE_FILTER = """
apiVersion: VERSION
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true}
clientConnection: {kubeconfig: /home/me/.kube/config}
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: MyPreFilter}]
"""

NAME_SCORE = """
apiVersion: VERSION
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- schedulerName: namescore-scheduler
  plugins:
    score:
      enabled: [{name: name-score}]
"""


def points(text: str, version: str) -> dict[str, list[tuple[str, int]]]:
    loaded = load(text.replace("VERSION", version))
    no_longer_served = [line for line in loaded.warnings if "is no longer served, reading it as v1" in line]
    assert len(no_longer_served) == (0 if version == V1 else 1)
    expanded = expand(loaded.config.profiles[0], OWN)
    return {point: [(ref.name, ref.weight) for ref in refs] for point, refs in expanded.items()}


@VERSIONS
def test_constant_score(version: str) -> None:
    found = points(MY_SCORE, version)["score"]
    assert ("MyScoringPlugin", 7) in found
    assert len(found) == 10


@VERSIONS
def test_filter_and_score_by_custom_resource(version: str) -> None:
    found = points(CRD_FIT, version)
    assert found["filter"] == [("NodeCRDResourceFit", 0)]
    assert found["score"] == [("NodeCRDResourceFit", 1)]
    assert ("NodeCRDResourceFit", 0) not in found["preFilter"]
    assert found["postFilter"] == [("DynamicResources", 0), ("DefaultPreemption", 0)]


@pytest.mark.parametrize("version", [V1, V1BETA3])
def test_pre_filter_through_multi_point(version: str) -> None:
    assert points(MY_PRE_FILTER, version)["preFilter"][-1] == ("MyPreFilter", 0)


@VERSIONS
def test_score_by_name(version: str) -> None:
    assert ("name-score", 1) in points(NAME_SCORE, version)["score"]


def test_misplaced_field_is_named() -> None:
    text = MY_SCORE.replace("VERSION", V1) + "leaderElect: true\n"
    with pytest.raises(ConfigError, match='strict decoding error: unknown field "leaderElect"'):
        load(text)
