"""The recorded types: spot checks of facts that other parts stand on."""

from __future__ import annotations

import pytest

from moorage.cluster.schema import builtin
from moorage.cluster.schema.builtin import embedding_struct, schema_of, type_name
from moorage.cluster.schema.model import ABSENT, ANY, ATOMIC, GRANULAR, MAP, SET, Field, Schema


def field(schema: Schema, path: str) -> Field:
    """Follows field names, stepping into lists and maps."""
    *steps, last = path.split(".")
    for step in steps:
        schema = schema.fields[step].schema
        schema = schema.items or schema.values or schema
    return schema.fields[last]


def test_pods_have_their_lists_keys_and_patch_strategies() -> None:
    pod = schema_of("", "v1", "Pod")
    ports = field(pod, "spec.containers.ports")
    assert (ports.schema.list_type, ports.schema.list_keys) == (MAP, ("containerPort", "protocol"))
    assert (ports.patch_strategy, ports.patch_key) == ("merge", "containerPort")
    volumes = field(pod, "spec.volumes")
    assert (volumes.patch_strategy, volumes.patch_key) == ("merge,retainKeys", "name")
    assert field(pod, "metadata.finalizers").schema.list_type == SET
    assert field(pod, "spec.tolerations").schema.list_type == ATOMIC
    assert field(pod, "spec.nodeSelector").schema.map_type == ATOMIC
    assert field(pod, "spec.containers").required


def test_zero_values_and_what_is_always_written() -> None:
    pod = schema_of("", "v1", "Pod")
    assert field(pod, "spec.containers.ports.protocol").default == "TCP"
    assert field(pod, "spec.containers.name").default == ""
    assert field(pod, "spec.containers.resources").default == {}
    assert field(pod, "spec.containers").default is None
    assert field(pod, "spec.hostNetwork").omits_zero
    assert not field(pod, "spec.terminationGracePeriodSeconds").omits_zero
    assert field(pod, "spec.terminationGracePeriodSeconds").default is ABSENT
    assert field(pod, "metadata.creationTimestamp").omits_zero


def test_formats() -> None:
    pod = schema_of("", "v1", "Pod")
    limits = field(pod, "spec.containers.resources.limits").schema
    assert limits.values is not None
    assert (limits.name, limits.values.format) == ("ResourceList", "quantity")
    assert field(pod, "spec.containers.livenessProbe.httpGet.port").schema.format == "int-or-string"
    assert field(pod, "metadata.creationTimestamp").schema.format == "date-time"
    assert (
        field(schema_of("coordination.k8s.io", "v1", "Lease"), "spec.renewTime").schema.format == "micro-time"
    )
    data = field(schema_of("", "v1", "Secret"), "data").schema.values
    assert data is not None
    assert data.format == "byte"
    raw = field(schema_of("apps", "v1", "ControllerRevision"), "data").schema
    assert (raw.type, raw.keeps_unknown) == (ANY, True)


def test_a_place_may_be_merged_unlike_its_type() -> None:
    claim = field(schema_of("", "v1", "PersistentVolume"), "spec.claimRef").schema
    regarding = field(schema_of("", "v1", "Event"), "involvedObject").schema
    assert (claim.name, regarding.name) == ("ObjectReference", "ObjectReference")
    assert (claim.map_type, regarding.map_type) == (GRANULAR, ATOMIC)


def test_types_that_contain_themselves() -> None:
    crd = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    props = field(crd, "spec.versions.schema.openAPIV3Schema").schema
    assert field(props, "properties").schema.values is props
    assert field(props, "items").schema.values is props


def test_the_same_kind_is_the_same_schema() -> None:
    assert schema_of("apps", "v1", "Deployment") is schema_of("apps", "v1", "Deployment")
    template = field(schema_of("apps", "v1", "Deployment"), "spec.template.spec").schema
    assert template is field(schema_of("", "v1", "Pod"), "spec").schema


def test_names() -> None:
    pod = schema_of("", "v1", "Pod")
    assert type_name(pod) == "io.k8s.api.core.v1.Pod"
    assert type_name(pod.fields["metadata"].schema) == "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert type_name(Schema()) == ""
    assert embedding_struct(field(pod, "spec.volumes.emptyDir")) == "VolumeSource"
    assert embedding_struct(field(pod, "spec.volumes.name")) == ""


@pytest.mark.parametrize(
    ("group", "kind"),
    [("autoscaling", "Scale"), ("policy", "Eviction"), ("", "DeleteOptions"), ("batch", "Job")],
)
def test_kinds_that_are_not_resources_are_known(group: str, kind: str) -> None:
    assert schema_of(group, "v1", kind).name == kind


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [
        ("", "v1", "PodSpec"),
        ("", "v2", "Pod"),
        ("apps", "v1", "Pod"),
        ("example.com", "v1", "Pod"),
        ("", "v1", ""),
        ("../..", "v1", "Pod"),
    ],
)
def test_what_is_not_a_kind_is_not_found(group: str, version: str, kind: str) -> None:
    with pytest.raises(LookupError):
        schema_of(group, version, kind)


def test_every_recorded_type_can_be_read() -> None:
    for file in builtin.DATA.glob("*.v1.txt"):
        names = [block.split()[0] for block in file.read_text().split("\n\n")[1:]]
        assert names
        for name in names:
            assert builtin._type(file.stem, name).name == name
