"""What a scheduler counts, read as its administrator reads it."""

from prometheus_client.parser import text_string_to_metric_families

from tests.controlplane.schedulers import Moorage
from tests.seeds.common import Cluster


def metrics(cluster: Cluster, process: Moorage, name: str, **labels: str) -> list[float]:
    """The values of all series of a metric that have these labels."""
    answer = process.get("/metrics", token=cluster.token)
    assert answer is not None and answer.status == 200
    return [
        sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
