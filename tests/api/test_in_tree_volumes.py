from __future__ import annotations

from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.in_tree_volumes import (
    SUCCESSOR_OF,
    TranslationError,
    csi_volume,
    inline_csi_volume,
    successor_of,
)
from moorage.api.pods import Pod, Volume
from moorage.api.storage import PersistentVolume

Document = dict[str, Any]

BETA, GA = "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"
GCE: Document = {"gcePersistentDisk": {"pdName": "d"}}
EBS, AZURE = "awsElasticBlockStore", "azureDisk"


def volume(spec: Document, labels: Document | None = None) -> PersistentVolume:
    return from_document(PersistentVolume, {"metadata": {"name": "pv", "labels": labels or {}}, "spec": spec})


def inline(source: Document) -> Volume:
    return from_document(Pod, {"spec": {"volumes": [{"name": "v", **source}]}}).spec.volumes[0]


@pytest.mark.parametrize(
    ("labels", "where"),
    [
        ({}, "zones/UNSPECIFIED"),
        ({GA: ""}, "zones/UNSPECIFIED"),
        ({GA: "us-east1-a"}, "zones/us-east1-a"),
        ({GA: "us-east1-a", BETA: "us-east1-b"}, "zones/us-east1-b"),
        ({GA: "us-east1-a", BETA: ""}, "zones/us-east1-a"),
        ({GA: "a"}, "zones/a"),
        ({BETA: "us-east1-a__us-east1-b"}, "regions/us-east1"),
    ],
)
def test_a_disk_of_gce_is_called_by_its_zone_or_region(labels: Document, where: str) -> None:
    assert csi_volume(volume(GCE, labels)) == (
        "pd.csi.storage.gke.io",
        f"projects/UNSPECIFIED/{where}/disks/d",
    )


@pytest.mark.parametrize(
    ("zones", "reason"),
    [
        ("a__b", "zone in unexpected format, expected: {locale}-{region}-{zone}, got: a"),
        (
            "us-east1-a__us-west1-a",
            "multiple or no regions gotten from zones, got: map[us-east1:{} us-west1:{}]",
        ),
        ("__", "zone in unexpected format, expected: {locale}-{region}-{zone}, got: "),
    ],
)
def test_zones_of_more_than_one_region_have_no_name(zones: str, reason: str) -> None:
    with pytest.raises(TranslationError) as raised:
        csi_volume(volume(GCE, {BETA: zones}))
    assert str(raised.value) == f"failed to get region from zones: {reason}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (GCE, ("pd.csi.storage.gke.io", "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d")),
        ({EBS: {"volumeID": "vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
        ({EBS: {"volumeID": "anything/else"}}, ("ebs.csi.aws.com", "anything/else")),
        ({EBS: {"volumeID": "aws://us-east-1a/vol-1"}}, ("ebs.csi.aws.com", "vol-1")),
        ({EBS: {"volumeID": "aws:///vol-1/"}}, ("ebs.csi.aws.com", "vol-1")),
        ({"cinder": {"volumeID": "c"}}, ("cinder.csi.openstack.org", "c")),
        ({AZURE: {"diskURI": "/sub/d"}}, ("disk.csi.azure.com", "/sub/d")),
        ({AZURE: {"diskURI": "/sub/d", "kind": "MANAGED"}}, ("disk.csi.azure.com", "/sub/d")),
        ({"portworxVolume": {"volumeID": "p"}}, ("pxd.portworx.com", "p")),
        ({"azureFile": {"shareName": "s"}}, None),
        ({"vsphereVolume": {"volumePath": "s"}}, None),
        ({"nfs": {"server": "s"}}, None),
    ],
)
def test_what_csi_drivers_call_volumes(source: Document, expected: tuple[str, str] | None) -> None:
    assert csi_volume(volume(source)) == expected
    assert inline_csi_volume(inline(source)) == expected


@pytest.mark.parametrize(
    "source",
    [
        {EBS: {"volumeID": "aws://zone/disk-1"}},
        {EBS: {"volumeID": "aws://zone/a/vol-1"}},
        {EBS: {"volumeID": "aws://[zone/vol-1"}},
        {AZURE: {"diskURI": "/sub/d", "kind": "Dedicated"}},
    ],
)
def test_volumes_without_a_name(source: Document) -> None:
    with pytest.raises(TranslationError):
        csi_volume(volume(source))
    with pytest.raises(TranslationError):
        inline_csi_volume(inline(source))


def test_csi_volumes_are_what_they_are() -> None:
    assert csi_volume(volume({"csi": {"driver": "d", "volumeHandle": "h"}})) == ("d", "h")
    assert inline_csi_volume(inline({"csi": {"driver": "d"}})) is None


def test_successors_are_known_by_field_and_by_name() -> None:
    found = successor_of(inline({"azureFile": {}}))
    assert found is not None
    assert found is SUCCESSOR_OF["kubernetes.io/azure-file"]
    assert not found.migrates
    assert successor_of(inline({"emptyDir": {}})) is None
