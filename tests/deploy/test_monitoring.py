"""The alerts and the dashboard ask for metrics and labels that there are, and can be loaded."""

import json
import re
from collections import Counter
from typing import Any

import pytest
import yaml

from tests.deploy.promql import parsed, problems
from tests.docs.blocks import ROOT

FOLDER = ROOT / "deploy" / "monitoring"
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yaml").read_text())["spec"]["groups"]
    for rule in group["rules"]
]
DASHBOARD: dict[str, Any] = json.loads((FOLDER / "dashboard.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
WIDTH = 24

WATCHED = {
    "leader_election_master_status",
    "moorage_events_dropped_total",
    "moorage_plugin_background_errors_total",
    "moorage_watch_silence_seconds",
    "scheduler_framework_extension_point_duration_seconds_bucket",
    "scheduler_pending_pods",
    "scheduler_plugin_failures_total",
    "scheduler_plugin_slow_calls_total",
    "scheduler_schedule_attempts_total",
    "up",
}
"""What must not go wrong unnoticed."""


def queries() -> dict[str, str]:
    shown = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in PANELS
        for target in panel.get("targets", ())
    }
    return {rule["alert"]: rule["expr"] for rule in RULES} | shown


@pytest.mark.parametrize("name", queries())
def test_every_query_asks_for_what_there_is(name: str) -> None:
    assert problems(queries()[name]) == []


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ('scheduler_pods{job="m"}', "there is no metric scheduler_pods"),
        ('scheduler_preemption_victims{job="m"}', "there is no metric scheduler_preemption_victims"),
        ('scheduler_pending_pods{job="m",plugin="x"}', "scheduler_pending_pods has no label plugin"),
        ("scheduler_pending_pods", "scheduler_pending_pods is neither a function nor a metric with {}"),
        ('scheduler_pending_pods{queue="x"}', "scheduler_pending_pods is not limited to a job"),
        ('sum by (plugin) (scheduler_pending_pods{job="m"})', "no metric has the label plugin"),
        ('sum by (le) (rate(scheduler_preemption_victims_sum{job="m"}[5m]))', "no metric has the label le"),
        ('maximum(scheduler_pending_pods{job="m"})', "maximum is neither a function nor a metric with {}"),
    ],
)
def test_what_is_not_there_is_found(query: str, problem: str) -> None:
    assert problem in problems(query)


def test_what_matters_most_is_watched() -> None:
    asked = {name for rule in RULES for name, _ in parsed(rule["expr"]).metrics}
    assert asked >= WATCHED


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_says_what_to_do(rule: dict[str, Any]) -> None:
    assert re.fullmatch(r"\d+m", rule["for"])
    assert rule["labels"]["severity"] in ("critical", "warning")
    assert rule["annotations"]["summary"].endswith(".")
    assert len(rule["annotations"]["description"]) > len(rule["annotations"]["summary"])
    query = parsed(rule["expr"])
    named = {*re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))}
    assert named <= query.grouped_by


def test_alerts_have_names_of_their_own() -> None:
    assert max(Counter(rule["alert"] for rule in RULES).values()) == 1


def test_the_dashboard_can_be_imported() -> None:
    assert DASHBOARD.keys() >= {"title", "uid", "schemaVersion", "panels", "templating", "time"}
    assert "id" not in DASHBOARD  # Grafana gives one
    assert max(Counter(panel["id"] for panel in PANELS).values()) == 1
    assert {variable["name"] for variable in DASHBOARD["templating"]["list"]} == {"datasource", "job"}


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panel_is_complete(panel: dict[str, Any]) -> None:
    assert panel["title"]
    if panel["type"] == "row":
        assert panel["panels"] == []
        return
    assert panel["type"] in ("stat", "timeseries")
    assert panel["fieldConfig"]["defaults"]["unit"]
    assert panel["datasource"]["uid"] == "${datasource}"
    targets = panel["targets"]
    assert targets and len({target["refId"] for target in targets}) == len(targets)
    for target in targets:
        named = {*re.findall(r"{{(\w+)}}", target["legendFormat"])}
        assert named <= parsed(target["expr"]).grouped_by | {"instance"}


def test_no_panel_covers_another() -> None:
    covered: Counter[tuple[int, int]] = Counter()
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= WIDTH
        columns, rows = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        covered.update((column, row) for column in columns for row in rows)
    assert max(covered.values()) == 1
