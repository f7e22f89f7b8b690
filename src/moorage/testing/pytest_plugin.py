"""The pytest plugin: the fixtures `cluster` and `api`, and the mark `moorage`.

Every test run of those who have Moorage installed loads this module, so it loads nothing else by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from moorage.testing.clusters.api_server import ApiServer
    from moorage.testing.clusters.cluster import Cluster

_ARGUMENTS = ("plugins", "nodes", "config", "args", "objects")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "moorage(plugins, nodes, config, args, objects): what the cluster of the fixture `cluster` has",
    )


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for this test alone: `cluster.schedule(make_pod()).node`.

    `@pytest.mark.moorage(plugins=[QuietNodes], nodes=3)` says what it has, as `moorage.testing.Cluster` does;
    on a module or class, the mark is for all its tests, and a test may replace single arguments.
    """
    with ExitStack() as stack:
        yield _start(request, stack)


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """An API server for this test alone, without nodes and scheduler: `api.kubeconfig`, `api.apply(...)`."""
    from moorage.testing.clusters.api_server import ApiServer

    with ApiServer() as running:
        yield running


def _start(request: pytest.FixtureRequest, stack: ExitStack) -> Cluster:
    from moorage.client.errors import ApiError
    from moorage.config import ConfigError
    from moorage.framework.loading.registry import PluginLoadError
    from moorage.testing.clusters.cluster import Cluster

    try:
        return stack.enter_context(Cluster(**_marked(request)))
    except (TypeError, ValueError, LookupError, ApiError, ConfigError, PluginLoadError) as error:
        raise pytest.fail.Exception(f"@pytest.mark.moorage: {error}", pytrace=False) from None


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of all marks; those nearer to the test win."""
    arguments: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("moorage"))):
        if mark.args:
            raise TypeError("give its arguments names, as in plugins=[...]")
        for name in mark.kwargs:
            if name not in _ARGUMENTS:
                raise TypeError(f"unknown argument {name!r}; there are {', '.join(_ARGUMENTS)}")
        arguments |= mark.kwargs
    return arguments
