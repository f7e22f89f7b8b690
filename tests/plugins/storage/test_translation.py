from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.in_tree_volumes import TranslationError
from moorage.api.storage import CSINode, PersistentVolume
from moorage.plugins.storage.translation import translated_affinity

Document = dict[str, Any]

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
BETA_ZONE, BETA_REGION = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)
EBS_ZONE = "topology.ebs.csi.aws.com/zone"
EBS: Document = {"awsElasticBlockStore": {"volumeID": "vol-1"}}


def csi_node(*migrated: str) -> CSINode:
    listed = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(migrated)} if migrated else {}
    return from_document(CSINode, {"metadata": {"name": "n", "annotations": listed}})


MIGRATED = csi_node("kubernetes.io/cinder", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd")


def line(key: str, *values: str) -> Document:
    return {"key": key, "operator": "In", "values": list(values)}


def volume(
    terms: list[list[Document]] | None = None, labels: Document | None = None, source: Document = EBS
) -> PersistentVolume:
    affinity: Document = {}
    if terms is not None:
        required = {"nodeSelectorTerms": [{"matchExpressions": lines} for lines in terms]}
        affinity = {"nodeAffinity": {"required": required}}
    return from_document(
        PersistentVolume,
        {"metadata": {"name": "pv", "labels": labels or {}}, "spec": {**source, **affinity}},
    )


def translated(made: PersistentVolume, node: CSINode | None = MIGRATED) -> list[list[Document]] | None:
    found = translated_affinity(made, node)
    if found is None:
        return None
    return [
        [line(each.key, *each.values) for each in term.match_expressions]
        for term in found.node_selector_terms
    ]


@pytest.mark.parametrize(
    ("terms", "labels", "expected"),
    [
        (None, {}, None),
        ([], {}, []),
        (None, {ZONE: "a"}, [[line(EBS_ZONE, "a")]]),
        ([], {ZONE: "a"}, [[line(EBS_ZONE, "a")]]),
        (None, {ZONE: "b__ a __a____"}, [[line(EBS_ZONE, "a", "b")]]),
        (None, {ZONE: "__"}, None),
        (None, {BETA_ZONE: "b"}, [[line(EBS_ZONE, "b")]]),
        (None, {ZONE: "a", BETA_ZONE: "b"}, [[line(EBS_ZONE, "a")]]),
        ([[line("disk", "ssd")]], {ZONE: "a"}, [[line("disk", "ssd"), line(EBS_ZONE, "a")]]),
        (
            [[line(ZONE, "a")], [line("disk", "ssd"), line(ZONE, "b")]],
            {ZONE: "c"},
            [[line(EBS_ZONE, "a")], [line("disk", "ssd"), line(EBS_ZONE, "b")]],
        ),
        ([[line(BETA_ZONE, "a")]], {ZONE: "c"}, [[line(EBS_ZONE, "a")]]),
        ([[line(BETA_ZONE, "a"), line(ZONE, "b")]], {}, [[line(BETA_ZONE, "a"), line(EBS_ZONE, "b")]]),
        (
            [[line(BETA_ZONE, "a"), line(BETA_REGION, "r")]],
            {},
            [[line(EBS_ZONE, "a"), line(REGION, "r")]],
        ),
        ([[line(BETA_REGION, "r")]], {BETA_ZONE: "a"}, [[line(REGION, "r"), line(EBS_ZONE, "a")]]),
        ([[line(BETA_REGION, "r")]], {ZONE: "a"}, [[line(BETA_REGION, "r"), line(EBS_ZONE, "a")]]),
        ([[line(ZONE, "a"), line(REGION, "r")]], {}, [[line(EBS_ZONE, "a"), line(REGION, "r")]]),
        ([[line(ZONE)]], {ZONE: "a"}, [[line(ZONE), line(EBS_ZONE, "a")]]),
    ],
)
def test_zones_are_those_of_the_driver(
    terms: list[list[Document]] | None, labels: Document, expected: list[list[Document]] | None
) -> None:
    assert translated(volume(terms, labels)) == expected


@pytest.mark.parametrize("node", [None, csi_node(), csi_node("kubernetes.io/gce-pd"), csi_node("aws-ebs")])
def test_where_the_driver_has_not_taken_over_the_affinity_stays(node: CSINode | None) -> None:
    terms = [[line(ZONE, "a")]]
    assert translated(volume(terms, {ZONE: "a"}), node) == terms


@pytest.mark.parametrize(
    "source",
    [
        {"csi": {"driver": "ebs.csi.aws.com", "volumeHandle": "vol-1"}},
        {"azureDisk": {"diskURI": "d"}},
        {"portworxVolume": {"volumeID": "p"}},
        {"vsphereVolume": {"volumePath": "p"}},
        {"hostPath": {"path": "/"}},
    ],
)
def test_other_volumes_keep_their_affinity(source: Document) -> None:
    listed = csi_node(
        "kubernetes.io/azure-disk", "kubernetes.io/portworx-volume", "kubernetes.io/vsphere-volume"
    )
    assert translated(volume([[line(ZONE, "a")]], {ZONE: "a"}, source), listed) == [[line(ZONE, "a")]]


@pytest.mark.parametrize(
    ("source", "key"),
    [
        ({"gcePersistentDisk": {"pdName": "d"}}, "topology.gke.io/zone"),
        ({"cinder": {"volumeID": "d"}}, "topology.cinder.csi.openstack.org/zone"),
    ],
)
def test_each_driver_has_its_own_label(source: Document, key: str) -> None:
    assert translated(volume(None, {ZONE: "a"}, source)) == [[line(key, "a")]]


def test_a_volume_without_a_name_is_an_error_where_the_driver_has_taken_over() -> None:
    nameless = volume(None, {}, {"awsElasticBlockStore": {"volumeID": "aws://zone/x"}})
    with pytest.raises(TranslationError):
        translated_affinity(nameless, MIGRATED)
    assert translated_affinity(nameless, None) is None
