"""Which namespaces a term reaches."""

from __future__ import annotations

import pytest

from moorage.api.decoding import from_document
from moorage.api.workloads import Namespace
from moorage.plugins.inter_pod_affinity import InterPodAffinity
from moorage.testing import make_pod
from tests.plugins.affinity_cases import Document, expression, passing, pod_with, term, zones
from tests.plugins.helpers import scored


def add_namespace(plugin: InterPodAffinity, name: str, **labels: str) -> None:
    made = from_document(Namespace, {"metadata": {"name": name, "labels": labels}})
    plugin.handle.state.objects.of(Namespace).put(made)


@pytest.mark.parametrize(
    ("rest", "reached"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue"]}, {"blue"}),
        ({"namespaceSelector": {}}, {"default", "blue", "red", "unknown"}),
        ({"namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue"}),
        ({"namespaces": ["red"], "namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue", "red"}),
        ({"namespaceSelector": expression("colour", "Exists")}, {"blue", "red"}),
        (
            {"namespaceSelector": expression("colour", "NotIn", "blue")},
            {"default", "blue", "red", "unknown"},
        ),
        ({"namespaceSelector": expression("colour", "DoesNotExist")}, {"default", "blue", "red", "unknown"}),
        (
            {
                "namespaceSelector": {
                    "matchLabels": {"colour": "red"},
                    **expression("other", "DoesNotExist"),
                }
            },
            {"red"},
        ),
    ],
    ids=[
        "own",
        "listed",
        "empty selector",
        "selector",
        "both",
        "exists",
        "only NotIn reaches everywhere",
        "only DoesNotExist reaches everywhere",
        "mixed",
    ],
)
def test_namespaces_of_the_terms_of_the_pod_itself(rest: Document, reached: set[str]) -> None:
    """The names are expanded and the selector is asked once more, about a namespace without labels."""
    for namespace in ("default", "blue", "red", "unknown"):
        plugin = zones(pod_with(app="a", name="p", node="a", namespace=namespace))
        add_namespace(plugin, "default")
        add_namespace(plugin, "blue", colour="blue")
        add_namespace(plugin, "red", colour="red")
        expected = "cx" if namespace in reached else "abcx"
        assert passing(plugin, pod_with(far=[term(**rest)])) == expected, namespace
        scores = scored(plugin, pod_with(prefer=[(1, term(**rest))]))
        assert bool(scores) == (namespace in reached)


@pytest.mark.parametrize(
    ("rest", "reached"),
    [
        ({"namespaceSelector": expression("colour", "NotIn", "blue")}, {"default", "red", "unknown"}),
        ({"namespaceSelector": {"matchLabels": {"colour": "blue"}}}, {"blue"}),
        ({"namespaceSelector": {}}, {"default", "blue", "red", "unknown"}),
        ({"namespaces": ["red"]}, {"red"}),
        ({}, {"default"}),
    ],
)
def test_terms_of_placed_pods_are_asked_about_the_real_labels(rest: Document, reached: set[str]) -> None:
    plugin = zones(pod_with(name="p", node="a", far=[term("new", **rest)]))
    add_namespace(plugin, "default")
    add_namespace(plugin, "blue", colour="blue")
    add_namespace(plugin, "red", colour="red")
    for namespace in ("default", "blue", "red", "unknown"):
        pod = make_pod("in", namespace=namespace, labels={"app": "new"})
        assert passing(plugin, pod) == ("cx" if namespace in reached else "abcx"), namespace


def test_namespaces_that_change_are_noticed() -> None:
    plugin = zones(
        pod_with(app="a", name="p", node="a", namespace="blue"),
        pod_with(
            name="q", node="c", far=[term("new", namespaceSelector={"matchLabels": {"colour": "blue"}})]
        ),
    )
    own = pod_with(far=[term(namespaceSelector={"matchLabels": {"colour": "blue"}})])
    new = make_pod("in", namespace="blue", labels={"app": "new"})
    assert (passing(plugin, own), passing(plugin, new)) == ("abcx", "abcx")
    add_namespace(plugin, "blue", colour="blue")
    assert (passing(plugin, own), passing(plugin, new)) == ("cx", "abx")
    add_namespace(plugin, "blue", colour="green")
    assert (passing(plugin, own), passing(plugin, new)) == ("abcx", "abcx")
