"""The rules of metadata, in the API server's words."""

from __future__ import annotations

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata, validate_metadata_update

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def created(resource: str = "pods", *, namespaced: bool = True, **metadata: object) -> list[str]:
    document: Document = {"metadata": {"name": "x", "namespace": "default", **metadata}}
    causes = validate_metadata(document, namespaced=namespaced, name_rule=name_rule_of(resource))
    return [str(cause) for cause in causes]


def updated(old: Document, **changes: object) -> list[str]:
    before = {"name": "x", "namespace": "default", "uid": "u", "generation": 2, **old}
    after = {name: value for name, value in {**before, **changes}.items() if value is not None}
    return [str(cause) for cause in validate_metadata_update({"metadata": after}, {"metadata": before})]


def test_plain_metadata_is_fine() -> None:
    assert created(labels={"app": "web"}, annotations={"Example.com/Note": "any text"}) == []


def test_names_by_resource() -> None:
    assert created("pods", name="a.b") == []
    assert created("services", name="a.b") == ['metadata.name: Invalid value: "a.b": must not contain dots']
    assert created("statefulsets.apps", name="a.b") == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]
    assert created("roles.rbac.authorization.k8s.io", name="system:Any") == []
    assert created("roles.rbac.authorization.k8s.io", name="a/b%") == [
        "metadata.name: Invalid value: \"a/b%\": may not contain '/'",
        "metadata.name: Invalid value: \"a/b%\": may not contain '%'",
    ]
    assert created("clusterroles.rbac.authorization.k8s.io", namespaced=False, namespace="", name="..") == [
        "metadata.name: Invalid value: \"..\": may not be '..'"
    ]
    assert created("nodes", namespaced=False, name="A", namespace="") == [
        f'metadata.name: Invalid value: "A": {SUBDOMAIN}'
    ]


def test_lengths_are_given_in_characters() -> None:
    assert created(name="a" * 254) == [
        f'metadata.name: Invalid value: "{"a" * 254}": must be no more than 253 characters'
    ]


def test_prefixes_may_end_with_a_dash() -> None:
    assert created(generateName="web-") == []
    assert created(generateName="Web-") == [f'metadata.generateName: Invalid value: "Web-": {SUBDOMAIN}']


def test_name_and_namespace_are_needed() -> None:
    assert created(name="", namespace="") == [
        "metadata.name: Required value: name or generateName is required",
        "metadata.namespace: Required value",
    ]
    assert created(namespaced=False) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_annotations_have_a_size() -> None:
    assert created(annotations={"a": "x" * (256 * 1024 - 1)}) == []
    assert created(annotations={"a": "x" * 256 * 1024}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_managed_fields() -> None:
    assert created(managedFields=[{"operation": "X", "fieldsType": "Y", "manager": "a" * 129}]) == [
        'metadata.managedFields[0].operation: Invalid value: "X": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "Y": must be `FieldsV1`',
        "metadata.managedFields[0].manager: Too long: may not be more than 128 bytes",
    ]


def test_custom_resources_may_have_plain_finalizers() -> None:
    document: Document = {"metadata": {"name": "x", "namespace": "default", "finalizers": ["mine"]}}
    rule = name_rule_of("widgets.example.com")
    assert validate_metadata(document, namespaced=True, name_rule=rule) != []
    assert validate_metadata(document, namespaced=True, name_rule=rule, qualified_finalizers=False) == []


@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
def test_identity_is_fixed(field: str) -> None:
    assert updated({}, **{field: "other"}) == [
        f'metadata.{field}: Invalid value: "other": field is immutable'
    ]


def test_an_update_cannot_begin_a_deletion() -> None:
    assert updated({}, deletionTimestamp="2026-01-01T00:00:00Z") == [
        'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable'
    ]


def test_no_finalizers_are_added_during_a_deletion() -> None:
    deleted: Document = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a.io/x"]}
    assert updated(deleted, finalizers=None) == []
    assert updated(deleted, finalizers=["a.io/x", "c.io/z", "b.io/y"]) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"b.io/y", "c.io/z"}'
    ]


def test_generations_only_grow() -> None:
    assert updated({}, generation=3) == []
    assert updated({}, generation=1) == ["metadata.generation: Invalid value: 1: must not be decremented"]
