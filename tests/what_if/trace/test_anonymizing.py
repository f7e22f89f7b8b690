"""Other names make no other decisions, and tell nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.meta import Object
from moorage.api.names import is_label_value, is_qualified_name
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.api.selectors import parse_int64
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.image_locality import with_tag
from moorage.scheduler.profiles import default_configuration
from moorage.what_if.simulation import Simulation
from moorage.what_if.trace.anonymizing import Anonymizer
from moorage.what_if.trace.kept import kept, traced_kind
from moorage.what_if.trace.other_words import OtherWords
from moorage.what_if.workloads import make_nodes, make_pods
from tests.what_if.trace.scenarios import SUBJECTS, decided, scenarios, with_objects

Document = dict[str, Any]

KEY = b"a key that nobody knows"


@pytest.mark.parametrize("subject", SUBJECTS)
def test_other_names_make_no_other_decisions(subject: str, soak: bool) -> None:
    """For every decision on record: the same nodes fit, for the same plugins, with the same scores."""
    registry = in_tree_registry()
    tried = 0
    for scenario in scenarios(subject, soak):
        if "pluginConfig" in msgspec.json.encode(scenario.get("config")).decode():
            continue  # it may name labels and resources, and is not part of a trace
        anonymizer = Anonymizer(KEY)
        for document in scenario["objects"]:
            if document["kind"] == "PersistentVolumeClaim":
                anonymizer.anonymized(kept(document))  # as the recorder hears of them: before their volumes
        other = with_objects(scenario, partial(_anonymized, anonymizer))
        expected = _renamed(_told(decided(scenario, registry)), anonymizer.words)
        assert _told(decided(other, registry)) == expected, scenario["id"]
        tried += 1
    assert tried > 10


def _anonymized(anonymizer: Anonymizer, document: Document) -> Document:
    return anonymizer.anonymized(kept(document))


def _told(decision: Document) -> Document:
    """What is decided, without the words in which it is explained."""
    post_filter = decision.get("postFilter") or {}
    return {
        "preFilter": (decision.get("preFilter") or {}).get("status"),
        "narrowed": (decision.get("preFilter") or {}).get("nodeNames"),
        "filter": {
            node: {plugin: answer["code"] for plugin, answer in answers.items()}
            for node, answers in (decision.get("filter") or {}).items()
        },
        "feasible": decision["feasible"],
        "scores": decision.get("scores"),
        "totals": decision.get("totals"),
        "best": decision.get("best"),
        "candidates": post_filter.get("candidates"),
        "nominated": post_filter.get("nominatedNodes"),
        "victims": post_filter.get("victims"),
    }


def _renamed(told: Document, words: OtherWords) -> Document:
    def of_nodes(found: Document | None) -> Document | None:
        return None if found is None else {words.word(name): value for name, value in found.items()}

    def named(found: list[str] | None) -> list[str] | None:
        return None if found is None else sorted("/".join(map(words.word, each.split("/"))) for each in found)

    candidates = of_nodes(told["candidates"])
    return {
        **told,
        **{part: of_nodes(told[part]) for part in ("filter", "scores", "totals")},
        **{part: named(told[part]) for part in ("feasible", "best", "narrowed", "nominated", "victims")},
        "candidates": candidates
        and {node: {**each, "victims": named(each["victims"])} for node, each in candidates.items()},
    }


# Whole runs: ties between nodes are broken by their order, which stays


@pytest.mark.parametrize("workload", ["plain", "distinct", "spread", "antiaffinity", "nodeaffinity"])
def test_other_names_make_no_other_runs(workload: str) -> None:
    anonymizer = Anonymizer(KEY)
    nodes, pods = list(make_nodes(23)), list(make_pods(workload, 150))
    placed = _run(nodes, pods)
    again = _run(
        [from_document(Node, anonymizer.anonymized(kept(_document(each)))) for each in nodes],
        [from_document(Pod, anonymizer.anonymized(kept(_document(each)))) for each in pods],
    )
    word = anonymizer.words.word
    assert again == {"/".join(map(word, pod.split("/"))): word(node) for pod, node in placed.items()}
    assert len(placed) > 20


_names = st.sampled_from(["a", "b", "gpu-pool", "zone-1", "us-east1-b", "7", "12", "true", ""])
_keys = st.sampled_from(["tier", "example.com/rack", "topology.kubernetes.io/zone", "kubernetes.io/hostname"])
_requirements = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        _keys,
        st.sampled_from(["In", "NotIn"]),
        st.lists(_names, min_size=1, max_size=3),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        _keys,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
    st.builds(
        lambda key, operator, value: {"key": key, "operator": operator, "values": [str(value)]},
        _keys,
        st.sampled_from(["Gt", "Lt"]),
        st.integers(0, 20),
    ),
)
_labels = st.dictionaries(_keys, _names, max_size=3)


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[Document], list[Document]]:
    """Nodes with labels, taints and resources, and pods that are about them."""
    nodes = []
    for number in range(draw(st.integers(1, 6))):
        taints = draw(st.lists(st.tuples(_keys, _names), max_size=1))
        nodes.append(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{number}", "uid": f"n{number}", "labels": draw(_labels)},
                "spec": {"taints": [{"key": k, "value": v, "effect": "NoSchedule"} for k, v in taints]},
                "status": {
                    "allocatable": {"cpu": "2", "memory": "4Gi", "pods": "9", "example.com/card": "2"}
                },
            }
        )
    pods = []
    for number in range(draw(st.integers(1, 8))):
        labels = draw(_labels)
        spread = {
            "maxSkew": 1,
            "topologyKey": draw(_keys),
            "whenUnsatisfiable": draw(st.sampled_from(["DoNotSchedule", "ScheduleAnyway"])),
            "labelSelector": {"matchLabels": labels},
        }
        term = {"topologyKey": draw(_keys), "labelSelector": {"matchLabels": draw(_labels)}}
        tolerations = [{"key": key, "operator": "Exists"} for key in draw(st.lists(_keys, max_size=2))]
        required = [{"matchExpressions": draw(st.lists(_requirements, max_size=2))}]
        pods.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"pod-{number}",
                    "namespace": "shop",
                    "uid": f"p{number}",
                    "labels": labels,
                },
                "spec": {
                    "priority": draw(st.integers(0, 2)),
                    "tolerations": tolerations,
                    "topologySpreadConstraints": [spread] if draw(st.booleans()) else [],
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": required}
                        }
                        if draw(st.booleans())
                        else None,
                        "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
                        if draw(st.booleans())
                        else None,
                    },
                    "containers": [
                        {
                            "name": "main",
                            "image": draw(st.sampled_from(["app", "app:latest", "registry:5000/app:1"])),
                            "resources": {
                                "requests": {
                                    "cpu": draw(st.sampled_from(["500m", "1"])),
                                    "example.com/card": "1",
                                }
                            },
                        }
                    ],
                },
            }
        )
    return nodes, pods


@settings(max_examples=60, deadline=None)
@given(clusters(), st.binary(min_size=16, max_size=16))
def test_other_names_make_no_other_clusters(
    cluster: tuple[list[Document], list[Document]], key: bytes
) -> None:
    nodes, pods = cluster
    anonymizer = Anonymizer(key)
    word = anonymizer.words.word
    placed = _run([from_document(Node, each) for each in nodes], [from_document(Pod, each) for each in pods])
    again = _run(
        [from_document(Node, anonymizer.anonymized(kept(each))) for each in nodes],
        [from_document(Pod, anonymizer.anonymized(kept(each))) for each in pods],
    )
    assert again == {"/".join(map(word, pod.split("/"))): word(node) for pod, node in placed.items()}


def _document(item: Object) -> Document:
    return {"apiVersion": item.api_version(), "kind": item.kind, **item.raw}


def _run(objects: Sequence[Object], pods: list[Pod]) -> dict[str, str]:
    registry = in_tree_registry()
    simulation = Simulation(default_configuration(registry, []), registry)
    for item in objects:
        simulation.add(item)
    return asyncio.run(simulation.run(pods)).placed


# Nothing is told


def test_no_name_of_the_cluster_is_told() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "acme-billing-1",
            "namespace": "acme-prod",
            "uid": "acme-uid",
            "labels": {"acme.com/team": "acme-money", "acme": "acme"},
            "annotations": {
                "acme.com/owner": "acme",
                "kueue.x-k8s.io/podset-required-topology": "acme.com/rack",
            },
            "ownerReferences": [
                {"apiVersion": "acme.com/v1", "kind": "AcmeJob", "name": "acme", "uid": "acme"}
            ],
        },
        "spec": {
            "nodeName": "acme-node",
            "priorityClassName": "acme-high",
            "nodeSelector": {"acme.com/pool": "acme"},
            "tolerations": [{"key": "acme.com/only", "operator": "Equal", "value": "acme"}],
            "schedulingGates": [{"name": "acme.com/gate"}],
            "resourceClaims": [{"name": "acme", "resourceClaimTemplateName": "acme-gpu"}],
            "schedulingGroup": {"podGroupName": "acme-group"},
            "containers": [
                {
                    "name": "acme",
                    "image": "registry.acme.com/acme:acme@sha256:acme",
                    "resources": {"requests": {"cpu": "1", "acme.com/card": "1", "nvidia.com/gpu": "1"}},
                    "ports": [{"hostPort": 80, "hostIP": "10.1.2.3"}],
                }
            ],
            "volumes": [
                {"name": "acme", "persistentVolumeClaim": {"claimName": "acme-data"}},
                {
                    "name": "acme-2",
                    "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "acme"}}},
                },
                {"name": "acme-3", "csi": {"driver": "csi.acme.com", "volumeAttributes": {"acme": "acme"}}},
            ],
            "affinity": {
                "podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "topologyKey": "acme.com/rack",
                            "namespaces": ["acme-prod"],
                            "labelSelector": {
                                "matchLabels": {"acme": "acme"},
                                "matchExpressions": [
                                    {"key": "acme.com/x", "operator": "In", "values": ["acme"]}
                                ],
                            },
                        }
                    ]
                }
            },
        },
        "status": {"phase": "Pending", "nominatedNodeName": "acme-node"},
    }
    told = msgspec.json.encode(Anonymizer(KEY).anonymized(kept(secret))).decode().lower()
    assert "10.1.2.3" not in told and "nvidia.com/gpu" in told
    assert "acme" not in told


def test_another_key_gives_other_words() -> None:
    assert OtherWords(b"one").word("web") != OtherWords(b"two").word("web")


# What words have to be like

_texts = st.one_of(
    st.text("ab-._/:@ 01", max_size=12), st.from_regex(r"[a-z0-9]{1,70}", fullmatch=True), st.text(max_size=5)
)


@given(_texts, _texts)
def test_words_are_as_good_as_what_they_replace(one: str, other: str) -> None:
    words = OtherWords(KEY)
    assert (words.word(one) == words.word(other)) == (one == other)
    assert is_label_value(words.word(one)) == is_label_value(one)
    assert is_qualified_name(words.key(one)) == is_qualified_name(one)
    assert (words.key(one) == words.key(other)) == (one == other)


@given(st.integers(0, 10**17), st.integers(0, 10**17), st.integers(0, 3))
def test_numbers_keep_their_order(one: int, other: int, zeros: int) -> None:
    words = OtherWords(KEY)
    first, second = (parse_int64(words.word("0" * zeros + str(each))) for each in (one, other))
    assert first is not None and second is not None
    assert (first < second) == (one < other) and (first == second) == (one == other)


@given(_texts.filter(lambda text: parse_int64(text) is None))
def test_what_is_no_number_becomes_none(text: str) -> None:
    assert parse_int64(OtherWords(KEY).word(text)) is None


_images = st.builds(
    lambda name, tag, digest: name + tag + digest,
    st.sampled_from(["app", "registry:5000/app", "registry.example/team/app", "app2"]),
    st.sampled_from(["", ":latest", ":1", ":2"]),
    st.sampled_from(["", "@sha256:12ab", "@sha256:34cd"]),
)


@given(_images, _images)
def test_images_are_the_same_if_they_were(one: str, other: str) -> None:
    words = OtherWords(KEY)
    same = with_tag(words.image(one)) == with_tag(words.image(other))
    assert same == (with_tag(one) == with_tag(other))


def test_claims_that_a_pod_has_by_its_volumes_keep_its_name() -> None:
    anonymizer = Anonymizer(KEY)
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "web-0-scratch",
            "namespace": "shop",
            "uid": "c",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Pod", "name": "web-0", "uid": "p", "controller": True}
            ],
        },
        "spec": {"volumeName": "pv-1"},
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "v"},
        "spec": {"claimRef": {"namespace": "shop", "name": "web-0-scratch", "uid": "c"}},
    }
    owner = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": "p"},
        "spec": {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]},
    }
    user = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "reader", "namespace": "shop", "uid": "r"},
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "web-0-scratch"}}]},
    }
    made = [
        from_document(traced_kind(each) or Object, anonymizer.anonymized(kept(each)))
        for each in (claim, volume, owner, user)
    ]
    found, holder, first, second = made
    assert isinstance(holder, PersistentVolume) and isinstance(first, Pod) and isinstance(second, Pod)
    assert isinstance(found, PersistentVolumeClaim)
    assert holder.spec.claim_ref is not None
    assert found.name == holder.spec.claim_ref.name == first.spec.volumes[0].claim_name(first.name)
    assert found.name == second.spec.volumes[0].claim_name(second.name)
    assert found.spec.volume_name == holder.name
