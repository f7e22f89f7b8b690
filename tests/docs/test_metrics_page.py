"""docs/metrics.md names every metric that there is, with its type and labels, and no other."""

from moorage.process.client_metrics import ClientMetrics
from moorage.process.metrics import SchedulerMetrics
from moorage.process.shadow_tally import Tally
from moorage.server.exposition import render
from moorage.server.process import ProcessMetrics
from tests.docs.metrics_page import OWN, described, is_left_out, left_out, otherwise


def exported() -> list[SchedulerMetrics | ClientMetrics | ProcessMetrics | Tally]:
    return [SchedulerMetrics(), ClientMetrics(), ProcessMetrics(), Tally()]


def test_every_metric_is_described_and_no_other() -> None:
    text = render([each.registry for each in exported()])
    shown = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    assert {name: row.type for name, row in described().items()} == shown


def test_with_its_labels() -> None:
    labels = {family.name: family.labels for each in exported() for family in each}
    page = described()
    assert {name: page[name].labels for name in labels} == labels


def test_what_is_counted_otherwise_is_there_and_what_is_left_out_is_not() -> None:
    page = described()
    assert otherwise() <= page.keys()
    assert len(left_out()) > 10
    assert [name for name in page if is_left_out(name)] == []


def test_the_own_ones_are_told_apart() -> None:
    own = {name for name, row in described().items() if row.section == OWN}
    assert {name for name in described() if name.startswith("moorage_")} < own
