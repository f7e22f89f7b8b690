"""The rules that a CustomResourceDefinition must keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.api.names import dns_subdomain_problems
from moorage.cluster.base.errors import Cause, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.custom.approval import approval, approval_problems
from moorage.cluster.custom.conversion_rules import conversion_problems
from moorage.cluster.custom.internal_form import internal_version
from moorage.cluster.custom.structure_rules import parts
from moorage.cluster.custom.version_rules import deprecation_problems, version_problems
from moorage.cluster.custom.wording import Ordered, invalid, unsupported
from moorage.cluster.kinds.rules import IMMUTABLE
from moorage.cluster.schema.forms import dns_1035_label_problems

_SHARED = (
    ("schema", "validation"),
    ("subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns"),
    ("selectableFields", "selectableFields"),
)


def definition_problems(document: Document, *, new: bool) -> Iterator[Cause]:
    """All but those of the metadata in general."""
    spec = document["spec"]
    name = document["metadata"].get("name", "")
    if new and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
        yield invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
    yield from _spec_problems(spec)
    yield from names_problems(document.get("status", {}).get("acceptedNames") or {}, "status.acceptedNames")
    yield from stored_versions_problems(document)
    if new:
        yield from approval_problems(document)
    if spec.get("preserveUnknownFields") is True:
        yield invalid(
            "spec.preserveUnknownFields",
            True,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead",
        )


def change_problems(new: Document, old: Document) -> Iterator[Cause]:
    """What an update may not do."""
    if is_established(old):
        yield from _unchanged(new, old, "scope")
        yield from _unchanged(new, old, "names", "kind")
    yield from _unchanged(new, old, "group")
    yield from _unchanged(new, old, "names", "plural")
    if approval(new)[0] != approval(old)[0]:
        yield from approval_problems(new)


def _unchanged(new: Document, old: Document, *names: str) -> Iterator[Cause]:
    value, before = new["spec"], old["spec"]
    for name in names:
        value, before = value.get(name, ""), before.get(name, "")
    if value != before:
        yield invalid_value(f"spec.{'.'.join(names)}", value, IMMUTABLE)


def is_established(document: Document) -> bool:
    conditions = document.get("status", {}).get("conditions") or ()
    return any(each.get("type") == "Established" and each.get("status") == "True" for each in conditions)


def versions_of(spec: Document) -> list[Document]:
    return spec.get("versions") or []


def _spec_problems(spec: Document) -> Iterator[Cause]:
    yield from _group_problems(spec.get("group", ""))
    yield from _choice("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    versions = versions_of(spec)
    for place, version in enumerate(versions):
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            yield required(f"spec.versions[{place}].schema.openAPIV3Schema")
    if spec.get("preserveUnknownFields") is True and any(map(_has_defaults, versions)):
        detail = "must be false in order to use defaults in the schema"
        yield invalid("spec.preserveUnknownFields", True, detail)
    shared = _shared(versions)
    for place, version in enumerate(versions):
        path = f"spec.versions[{place}]"
        if problems := dns_1035_label_problems(version["name"]):
            yield invalid(f"{path}.name", version["name"], ",".join(problems))
        yield from deprecation_problems(version, f"{path}.deprecationWarning")
        own = {name: version[name] for name, _ in _SHARED if name in version and name not in shared}
        yield from version_problems(own, version, path, in_version=True)
    yield from _whole_list_problems(versions, shared)
    if versions and versions[0]["name"] and (problems := dns_1035_label_problems(versions[0]["name"])):
        yield invalid("spec.version", versions[0]["name"], ",".join(problems))
    names = spec["names"]
    yield from (
        required(f"spec.names.{each}")
        for each in ("plural", "singular", "kind", "listKind")
        if not names.get(each)
    )
    yield from names_problems(names, "spec.names")
    if versions:
        yield from version_problems(
            {name: versions[0][name] for name in shared if name in versions[0]}, versions[0], "spec"
        )
    yield from conversion_problems(spec.get("conversion"))


def _shared(versions: list[Document]) -> set[str]:
    """What all versions have in common is looked at once, and reported for the whole."""
    return {
        name
        for name, _ in _SHARED
        if all((version.get(name) or None) == (versions[0].get(name) or None) for version in versions)
    }


def _whole_list_problems(versions: list[Document], shared: set[str]) -> Iterator[Cause]:
    problems = []
    if len({version["name"] for version in versions}) < len(versions):
        problems.append("must contain unique version names")
    if sum(version["storage"] for version in versions) != 1:
        problems.append("must have exactly one version marked as storage version")
    if problems:
        shown = [
            internal_version({name: each for name, each in version.items() if name not in shared})
            for version in versions
        ]
        yield from (invalid("spec.versions", Ordered(shown), problem) for problem in problems)


def _group_problems(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif problems := dns_subdomain_problems(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _choice(field: str, value: str, choices: Iterable[str]) -> Iterator[Cause]:
    if not value:
        yield required(field)
    elif value not in choices:
        yield unsupported(field, value, choices)


def names_problems(names: Document, path: str) -> Iterator[Cause]:
    kind, list_kind = names.get("kind", ""), names.get("listKind", "")
    for name in ("plural", "singular"):
        if (value := names.get(name)) and (problems := dns_1035_label_problems(value)):
            yield invalid(f"{path}.{name}", value, ",".join(problems))
    for name, value in (("kind", kind), ("listKind", list_kind)):
        if value and (problems := dns_1035_label_problems(value.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            yield invalid(f"{path}.{name}", value, detail)
    yield from _labels(names, "shortNames", path)
    if kind and kind == list_kind:
        yield invalid(f"{path}.listKind", list_kind, "kind and listKind may not be the same")
    yield from _labels(names, "categories", path)


def _labels(names: Document, name: str, path: str) -> Iterator[Cause]:
    for place, value in enumerate(names.get(name) or ()):
        if problems := dns_1035_label_problems(value):
            yield invalid(f"{path}.{name}[{place}]", value, ",".join(problems))


def stored_versions_problems(document: Document) -> Iterator[Cause]:
    """Versions in which objects may still be stored cannot go."""
    field = "status.storedVersions"
    stored: list[str] = document.get("status", {}).get("storedVersions") or []
    if not stored:
        yield invalid(field, None, "must have at least one stored version")
        return
    names = []
    for version in versions_of(document["spec"]):
        names.append(version["name"])
        if version["storage"] and version["name"] not in stored:
            yield invalid(field, stored, f"must have the storage version {version['name']}")
    for place, name in enumerate(stored):
        if name not in names:
            yield invalid(
                f"{field}[{place}]",
                name,
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions",
            )


def _has_defaults(version: Document) -> bool:
    return _has(((version.get("schema") or {}).get("openAPIV3Schema")) or {}, "default")


def _has(schema: Document, name: str) -> bool:
    return schema.get(name) is not None or any(_has(part, name) for part in parts(schema))
