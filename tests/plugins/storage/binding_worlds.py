"""Random clusters with volumes and claims."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from moorage.api.meta import Object
from moorage.testing import make_node
from tests.plugins.storage.volume_objects import (
    DRIVER,
    HOST,
    NO_PROVISIONER,
    SELECTED,
    ZONE,
    affinity,
    in_zone,
    line,
    make_capacity,
    make_claim,
    make_class,
    make_csi_node,
    make_driver,
    make_volume,
)

NODES = ("n0", "n1", "n2", "n3")
CLAIMS = ("c0", "c1", "c2", "c3")
VOLUMES = tuple(f"v{number}" for number in range(7))
SIZES = ("1Gi", "5Gi", "5120Mi", "10Gi", "10Gi")
CLASSES = ("local", "local", "made", "near")
GCE, PLUGIN = {"gcePersistentDisk": {"pdName": "d"}}, "kubernetes.io/gce-pd"
BROKEN_EBS = {"awsElasticBlockStore": {"volumeID": "aws://nonsense"}}

TOPOLOGIES: tuple[list[dict[str, list[str]]], ...] = (
    [],
    [{ZONE: ["a"]}],
    [{ZONE: ["b"]}, {ZONE: ["a"], HOST: ["n0", "n2"]}],
    [{}],
)
AFFINITIES: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    in_zone("a"),
    in_zone("a", "b"),
    *(affinity([line(HOST, name)]) for name in NODES),
    affinity([line(HOST, "n1"), line(ZONE, "a")]),
    affinity([line(HOST, "n0")], [line(ZONE, "b")]),
    affinity([line(ZONE, operator="DoesNotExist")]),
    affinity([line(ZONE, "a", operator="NotIn")]),
    affinity([]),
    affinity([line(ZONE, "a", operator="Near")], [line(HOST, "n3")]),
    {"required": {"nodeSelectorTerms": []}},
    {"required": {"nodeSelectorTerms": [{"matchFields": [line("metadata.name", "n1")]}]}},
    {},
)
SELECTORS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    None,
    {},
    {"matchLabels": {"tier": "fast"}},
    {"matchExpressions": [{"key": "tier", "operator": "Nearly", "values": ["x"]}]},
)


def usually(common: Any, *rare: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from((common, common, common, common, *rare))


@st.composite
def nodes(draw: st.DrawFn, name: str) -> Object:
    zone = draw(st.sampled_from(("a", "b", None)))
    gke = {"topology.gke.io/zone": "a"} if draw(st.booleans()) else {}
    return make_node(name, labels={**({ZONE: zone} if zone else {}), **gke})


@st.composite
def volumes(draw: st.DrawFn, name: str, version: str = "1") -> Object:
    claim = draw(usually(None, *CLAIMS))
    reference = None
    if claim is not None:
        reference = {"namespace": draw(usually("default", "other")), "name": claim}
        reference |= draw(st.sampled_from(({}, {"uid": f"claim-{claim}"}, {"uid": "another"})))
    source = draw(usually({}, GCE, BROKEN_EBS))
    more = draw(usually({}, {"volumeMode": "Block"}, {"volumeAttributesClassName": "gold"}))
    return make_volume(
        name,
        draw(st.sampled_from(SIZES)),
        storage_class=draw(st.sampled_from(CLASSES)),
        node_affinity=draw(st.sampled_from(AFFINITIES)),
        claim=reference,
        phase=draw(usually("Available", "Released")),
        labels=draw(st.sampled_from(({}, {"tier": "fast"}))),
        modes=draw(usually(("ReadWriteOnce",), ("ReadOnlyMany",), ("ReadWriteOnce", "ReadOnlyMany"))),
        deleting=draw(usually(False, True)),
        version=version,
        **source,
        **more,
    )


@st.composite
def claims(draw: st.DrawFn, name: str, version: str = "1") -> Object:
    selector = draw(st.sampled_from(SELECTORS))
    more = draw(usually({}, {"volumeMode": "Block"}, {"volumeAttributesClassName": "gold"}))
    selected = draw(usually({}, {SELECTED: "n0"}, {SELECTED: "gone"}))
    return make_claim(
        name,
        draw(usually("5Gi", "1Gi", "8Gi", None)),
        storage_class=draw(st.sampled_from(CLASSES)),
        volume=draw(usually("", *VOLUMES, "gone")),
        annotations=selected,
        version=version,
        **({"selector": selector} if selector is not None else {}),
        **more,
    )


@st.composite
def classes(draw: st.DrawFn, name: str) -> Object:
    provisioner = NO_PROVISIONER if name == "local" else DRIVER
    return make_class(name, provisioner, topologies=draw(st.sampled_from(TOPOLOGIES)))


@st.composite
def capacities(draw: st.DrawFn, name: str) -> Object:
    topologies: tuple[dict[str, Any] | None, ...] = (
        None,
        {},
        {"matchLabels": {ZONE: "a"}},
        {"matchLabels": {HOST: "n1"}},
        {"matchLabels": {HOST: "n2", ZONE: "a"}},
        {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]},
    )
    return make_capacity(
        name,
        draw(st.sampled_from((None, "1Gi", "6Gi", "20Gi"))),
        storage_class=draw(st.sampled_from(("made", "near"))),
        topology=draw(st.sampled_from(topologies)),
        largest=draw(usually(None, "1Gi", "9Gi")),
    )


@st.composite
def csi_nodes(draw: st.DrawFn, name: str) -> Object:
    return make_csi_node(name, draw(st.sampled_from(("", PLUGIN, f"x,{PLUGIN}", "kubernetes.io/aws-ebs"))))


def everything() -> st.SearchStrategy[list[Object]]:
    """All kinds of objects, nodes first."""
    return st.tuples(
        *(nodes(name) for name in NODES),
        *(classes(name) for name in sorted({*CLASSES})),
        *(claims(name) for name in CLAIMS),
        *(st.none() | volumes(name) for name in VOLUMES),
        *(st.none() | capacities(f"k{number}") for number in range(4)),
        *(st.none() | csi_nodes(name) for name in NODES),
        st.none() | st.sampled_from((make_driver(), make_driver(capacity=False))),
    ).map(lambda found: [each for each in found if each is not None])


def crowded() -> st.SearchStrategy[list[Object]]:
    """Claims and free volumes of one class that all fit one another, so that size and place decide."""
    places = st.sampled_from((None, in_zone("a"), *(affinity([line(HOST, name)]) for name in NODES[:2])))
    volumes_of_one_class = [
        st.builds(make_volume, st.just(name), st.sampled_from(SIZES), node_affinity=places)
        for name in VOLUMES
    ]
    return st.tuples(
        *(nodes(name) for name in NODES[:3]),
        st.just(make_class()),
        *(st.builds(make_claim, st.just(name), st.sampled_from(("1Gi", "5Gi"))) for name in CLAIMS),
        *volumes_of_one_class,
    ).map(list)
