from __future__ import annotations

from typing import Any

import msgspec
import pytest

from moorage import Object, PrinterColumn
from moorage.api.custom_resources.definitions import DefinitionError, custom_resource_definition, is_protected
from tests.api.licenses import License

URL = "https://github.com/kubernetes/kubernetes/pull/78458"


class Plain(Object, kw_only=True):
    group = "example.com"
    resource = "plains"
    kind = "Plain"
    namespaced = False


def changed(**variables: Any) -> Any:
    """`Plain` with other class variables."""
    return msgspec.defstruct("Changed", [], bases=(Plain,), namespace=variables)


def test_a_definition_with_nothing_in_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
        },
    }
    assert custom_resource_definition(Plain) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "plains.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Plain", "listKind": "PlainList", "plural": "plains", "singular": "plain"},
            "scope": "Cluster",
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }


def test_a_definition_with_everything() -> None:
    spec = custom_resource_definition(License)["spec"]
    assert spec["scope"] == "Namespaced"
    assert spec["names"]["shortNames"] == ["lic"]
    assert spec["names"]["categories"] == ["shop"]
    [version] = spec["versions"]
    assert version["subresources"] == {"status": {}}
    assert version["additionalPrinterColumns"] == [
        {
            "name": "Seats",
            "type": "integer",
            "jsonPath": ".spec.seats",
            "description": "How many may use it",
        },
        {"name": "Tier", "type": "string", "jsonPath": ".spec.tier", "priority": 1},
    ]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["description"] == "The right to run a program."
    assert schema["required"] == ["spec"]
    assert list(schema["properties"]) == ["apiVersion", "kind", "metadata", "spec", "status"]


@pytest.mark.parametrize(
    ("group", "protected"),
    [
        ("k8s.io", True),
        ("kubernetes.io", True),
        ("x.k8s.io", True),
        ("a.b.kubernetes.io", True),
        ("xk8s.io", False),
        ("k8s.io.example.com", False),
    ],
)
def test_the_groups_of_the_community(group: str, protected: bool) -> None:
    assert is_protected(group) is protected


def test_the_approval_comes_from_the_call_or_the_class() -> None:
    def annotations(kind: type[Object], **options: str) -> Any:
        return custom_resource_definition(kind, **options)["metadata"].get("annotations")

    assert annotations(changed(group="x.k8s.io")) is None
    assert annotations(Plain, api_approved=URL) == {"api-approved.kubernetes.io": URL}
    own = changed(api_approved="unapproved, an experiment")
    assert annotations(own) == {"api-approved.kubernetes.io": "unapproved, an experiment"}
    assert annotations(own, api_approved=URL) == {"api-approved.kubernetes.io": URL}
    for wrong in ("yes", "https://", "http://[x"):
        with pytest.raises(DefinitionError, match="is no approval; give the URL of the review"):
            custom_resource_definition(Plain, api_approved=wrong)


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"group": ""}, 'the class variable `group` is missing; write group = "shop.example.com"'),
        ({"resource": ""}, "the class variable `resource` is missing"),
        ({"kind": None}, "the class variable `kind` is missing"),
        ({"group": "example"}, "group 'example': should be a domain with at least one dot"),
        ({"group": "Example.com"}, "group 'Example.com': a lowercase RFC 1123 subdomain must"),
        ({"version": "1"}, "version '1': use lower-case letters, digits and dashes, a letter first"),
        ({"version": "v1.2"}, "version 'v1.2': use lower-case"),
        ({"resource": "Plains"}, "resource 'Plains': use lower-case"),
        ({"resource": "p" * 64}, "use lower-case"),
        ({"kind": "plain"}, "kind 'plain': use a word such as License"),
        ({"kind": "Pla in"}, "kind 'Pla in': use a word such as License"),
        ({"short_names": "pl"}, "short_names 'pl': give a tuple of lower-case words"),
        ({"categories": ("All",)}, "categories ('All',): give a tuple of lower-case words"),
        ({"namespaced": "no"}, "namespaced 'no': write True or False"),
        ({"api_approved": 5}, "5 is no approval; give the URL of the review"),
        ({"printer_columns": 5}, "printer_columns 5: give a tuple, such as (PrinterColumn("),
        (
            {"printer_columns": PrinterColumn("A", "string", ".a")},
            "give a tuple, such as (PrinterColumn(",
        ),
        (
            {"printer_columns": (PrinterColumn("A", "string", 5),)},  # type: ignore[arg-type]
            "printer column A: path 5: begin with a dot",
        ),
        (
            {"printer_columns": (PrinterColumn("A", "string", ".a", priority="1"),)},  # type: ignore[arg-type]
            "printer column A: priority '1': use a whole number",
        ),
        ({"printer_columns": (5,)}, "printer_columns: 5: write PrinterColumn("),
        (
            {"printer_columns": (PrinterColumn("A", "text", ".a"),)},  # type: ignore[arg-type]
            "printer column A: type 'text': use one of boolean, date, integer, number, string",
        ),
        (
            {"printer_columns": (PrinterColumn("A", "string", "spec"),)},
            "printer column A: path 'spec': begin with a dot, as in .spec.seats",
        ),
    ],
)
def test_classes_that_describe_no_resource(variables: dict[str, Any], message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        custom_resource_definition(changed(**variables))
    assert str(caught.value).startswith("Changed: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_field_that_cannot_be_expressed_is_named() -> None:
    kind: Any = msgspec.defstruct("Odd", [("spec", dict[int, str])], bases=(Plain,), kw_only=True)
    with pytest.raises(DefinitionError, match=r"^Odd: spec: the keys are of type int; use str$"):
        custom_resource_definition(kind)
