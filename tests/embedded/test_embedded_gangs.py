"""Gangs on the embedded API server, whose schedulers are killed now and then."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.gang_crowd import Crowd, clean, define_pod_groups
from tests.controlplane.schedulers import Api
from tests.embedded.clusters import Embedded


@pytest.fixture(scope="module")
def cluster(programs: Path) -> Iterator[Embedded]:
    """One whose nodes come and go as the test says, and whose schedulers are processes of their own."""
    with Embedded("--no-scheduler", "--nodes=0") as running:
        yield running


@pytest.fixture(scope="module")
def api(cluster: Embedded) -> Api:
    opened = Api(cluster)
    define_pod_groups(opened)
    return opened


@pytest.fixture(autouse=True)
def nothing_left(api: Api) -> Iterator[None]:
    yield from clean(api)


@pytest.mark.soak
@pytest.mark.parametrize("seed", [3, 4])
def test_gangs_take_turns(cluster: Embedded, api: Api, soak: bool, seed: int) -> None:
    Crowd(cluster, api, 200 if soak else 4, seed).run()
