"""CustomResourceDefinitions: how they are completed, and the rules that they must keep."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from moorage.api.names import dns_subdomain_problems
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.parts import part, text
from moorage.cluster.base.store import Document
from moorage.cluster.custom.definition_status import APPROVAL, approval, is_established
from moorage.cluster.custom.formats import is_known
from moorage.cluster.custom.internal_form import internal_version
from moorage.cluster.custom.structural import all_schemas, open_api_of, versions_of
from moorage.cluster.custom.values import kind_problems
from moorage.cluster.custom.version_rules import deprecation_problems, version_problems
from moorage.cluster.custom.webhooks import url_problems
from moorage.cluster.schema.checking import IMMUTABLE
from moorage.cluster.schema.definitions import Strategy, keep_status, spec_differs
from moorage.cluster.schema.forms import dns_1035_label_problems

_HTTPS = 443
_SHARED = ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
_REVIEW_VERSIONS = ("v1", "v1beta1")


class CrdStrategy(Strategy):
    counts_generations = True
    updates_name_version = True
    qualified_finalizers = False

    def default(self, document: Document) -> None:
        spec = document["spec"]
        names = spec["names"]
        if not names.get("singular") and names.get("kind"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind") and names.get("kind"):
            names["listKind"] = f"{names['kind']}List"
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        status = document.get("status")
        if status is not None and not status.get("storedVersions"):
            _remember_storage_version(document)
        client = part(spec, "conversion", "webhook", "clientConfig")
        if client.get("service") is not None:
            client["service"].setdefault("port", _HTTPS)

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
        _remember_storage_version(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        _remember_storage_version(new)

    def validate(self, document: Document) -> Iterator[Cause]:
        return self._problems(document, None)

    def _problems(self, document: Document, old: Document | None) -> Iterator[Cause]:
        spec, metadata = document["spec"], document["metadata"]
        new = "resourceVersion" not in metadata  # only what is stored has a version
        name = metadata.get("name", "")
        if new and name != f"{spec['names'].get('plural', '')}.{spec.get('group', '')}":
            yield invalid_value("metadata.name", name, 'must be spec.names.plural+"."+spec.group')
        yield from _spec_problems(spec, _unchanged_schemas(spec, old))
        yield from _names_problems(part(document, "status", "acceptedNames"), "status.acceptedNames")
        yield from _stored_versions_problems(document)
        if new:
            yield from _approval_problems(document)
        if spec.get("preserveUnknownFields") is True:
            elsewhere = "set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
            yield invalid_value("spec.preserveUnknownFields", True, f"cannot set to true, {elsewhere}")

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        if subresource:
            return super().validate_change(new, old, subresource, warnings)
        relabeled = new["metadata"].get("labels") != old["metadata"].get("labels")
        by_itself = self._problems(new, old) if relabeled or spec_differs(new, old) else ()
        return (*by_itself, *self.validate_update(new, old))

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        if is_established(old):
            yield from _unchanged(new, old, "scope")
            yield from _unchanged(new, old, "names", "kind")
        yield from _unchanged(new, old, "group")
        yield from _unchanged(new, old, "names", "plural")
        if approval(new)[0] != approval(old)[0]:
            yield from _approval_problems(new)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return _names_problems(part(new, "status", "acceptedNames"), "status.acceptedNames")

    def warnings(self, document: Document) -> list[str]:
        schemas = all_schemas(document["spec"])
        formats = ((schema.get("type", ""), schema.get("format", "")) for schema in schemas)
        warnings = [
            f"unrecognized format {quoted(name)}"
            for kind, name in formats
            if name and not is_known(kind, name)
        ]
        return list(dict.fromkeys(warnings))


def _remember_storage_version(document: Document) -> None:
    status = document["status"]
    storage = next((each["name"] for each in versions_of(document["spec"]) if each["storage"]), None)
    stored = status.get("storedVersions") or []
    if storage is not None and storage not in stored:
        # The status may be that of the stored definition, which must stay as it is.
        document["status"] = {**status, "storedVersions": [*stored, storage]}


def _approval_problems(document: Document) -> Iterator[Cause]:
    """A definition in a group of the Kubernetes community names its review, or says that there was none."""
    reason, message = approval(document)
    field = f"metadata.annotations[{APPROVAL}]"
    if reason == "MissingAnnotation":
        yield required(field, message)
    elif reason == "InvalidAnnotation":
        yield invalid_value(field, document["metadata"]["annotations"][APPROVAL], message)


def _unchanged(new: Document, old: Document, *names: str) -> Iterator[Cause]:
    if (given := text(new, "spec", *names)) != text(old, "spec", *names):
        yield invalid_value(f"spec.{'.'.join(names)}", given, IMMUTABLE)


def _unchanged_schemas(spec: Document, old: Document | None) -> list[str]:
    """The versions whose schema is as it was."""
    before = {version["name"]: open_api_of(version) for version in versions_of(old["spec"] if old else {})}
    return [
        version["name"]
        for version in versions_of(spec)
        if version["name"] in before and open_api_of(version) == before[version["name"]]
    ]


def _spec_problems(spec: Document, unchanged: Collection[str]) -> Iterator[Cause]:
    yield from _group_problems(spec.get("group", ""))
    yield from _choice("spec.scope", spec.get("scope", ""), ("Cluster", "Namespaced"))
    versions, names = versions_of(spec), spec["names"]
    for place, version in enumerate(versions):
        if open_api_of(version) is None:
            yield required(f"spec.versions[{place}].schema.openAPIV3Schema")
    has_defaults = any(schema.get("default") is not None for schema in all_schemas(spec))
    if spec.get("preserveUnknownFields") is True and has_defaults:
        detail = "must be false in order to use defaults in the schema"
        yield invalid_value("spec.preserveUnknownFields", True, detail)
    yield from _versions_problems(versions, unchanged)
    for each in ("plural", "singular", "kind", "listKind"):
        if not names.get(each):
            yield required(f"spec.names.{each}")
    yield from _names_problems(names, "spec.names")
    if versions:
        own = {name: versions[0][name] for name in _shared(versions) if name in versions[0]}
        where, is_stored = "spec.validation", versions[0]["name"] in unchanged
        yield from version_problems(own, versions[0], "spec", schema_path=where, is_stored=is_stored)
    if spec.get("conversion") is not None:
        yield from _conversion_problems(spec["conversion"], "spec.conversion")


def _versions_problems(versions: list[Document], unchanged: Collection[str]) -> Iterator[Cause]:
    shared = _shared(versions)
    for place, version in enumerate(versions):
        path = f"spec.versions[{place}]"
        yield from _label(f"{path}.name", version["name"])
        yield from deprecation_problems(version, f"{path}.deprecationWarning")
        own = {name: version[name] for name in _SHARED if name in version and name not in shared}
        is_stored = version["name"] in unchanged
        yield from version_problems(own, version, path, schema_path=f"{path}.schema", is_stored=is_stored)
    for problem in _problems_between(versions):
        shown = [
            internal_version({name: each for name, each in version.items() if name not in shared})
            for version in versions
        ]
        yield invalid_value("spec.versions", shown, problem)
    if versions and versions[0]["name"]:
        yield from _label("spec.version", versions[0]["name"])


def _problems_between(versions: list[Document]) -> Iterator[str]:
    if len({version["name"] for version in versions}) < len(versions):
        yield "must contain unique version names"
    if sum(version["storage"] for version in versions) != 1:
        yield "must have exactly one version marked as storage version"


def _shared(versions: list[Document]) -> list[str]:
    """What all versions have in common is looked at once, and reported for the whole."""
    return [
        name
        for name in _SHARED
        if all((version.get(name) or None) == (versions[0].get(name) or None) for version in versions)
    ]


def _group_problems(group: str) -> Iterator[Cause]:
    if not group:
        yield required("spec.group")
    elif problems := dns_subdomain_problems(group):
        yield invalid_value("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")


def _choice(field: str, value: str, choices: Collection[str]) -> Iterator[Cause]:
    if value not in choices:
        yield unsupported_value(field, value, choices) if value else required(field)


def _label(field: str, value: str) -> Iterator[Cause]:
    if problems := dns_1035_label_problems(value):
        yield invalid_value(field, value, ",".join(problems))


def _names_problems(names: Document, path: str) -> Iterator[Cause]:
    rules = {"plural": _label, "singular": _label, "kind": kind_problems, "listKind": kind_problems}
    for name, rule in rules.items():
        if names.get(name):
            yield from rule(f"{path}.{name}", names[name])
    yield from _labels(f"{path}.shortNames", names.get("shortNames") or ())
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid_value(f"{path}.listKind", names["kind"], "kind and listKind may not be the same")
    yield from _labels(f"{path}.categories", names.get("categories") or ())


def _labels(field: str, values: Iterable[str]) -> Iterator[Cause]:
    for place, value in enumerate(values):
        yield from _label(f"{field}[{place}]", value)


def _stored_versions_problems(document: Document) -> Iterator[Cause]:
    """Versions in which objects may still be stored cannot go."""
    field = "status.storedVersions"
    stored: list[str] = document.get("status", {}).get("storedVersions") or []
    if not stored:
        yield invalid_value(field, None, "must have at least one stored version")
        return
    versions = versions_of(document["spec"])
    for version in versions:
        if version["storage"] and version["name"] not in stored:
            yield invalid_value(field, stored, f"must have the storage version {version['name']}")
    for place, name in enumerate(stored):
        if name not in [version["name"] for version in versions]:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {name} and "
                f"removes {name} from status.storedVersions"
            )
            yield invalid_value(f"{field}[{place}]", name, why)


# How objects get from one version to another


def _conversion_problems(conversion: Document, path: str) -> Iterator[Cause]:
    strategy = conversion.get("strategy", "")
    yield from _choice(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    client, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield forbidden_value(f"{path}.webhookClientConfig", detail)
        if versions:
            yield forbidden_value(f"{path}.conversionReviewVersions", detail)
        return
    if client is None:
        yield required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        yield required(f"{path}.webhookClientConfig", "exactly one of url or service is required")
    elif client.get("url") is not None:
        yield from url_problems(f"{path}.webhookClientConfig.url", client["url"])
    yield from _review_version_problems(f"{path}.conversionReviewVersions", versions)


def _review_version_problems(field: str, versions: list[str]) -> Iterator[Cause]:
    if not versions:
        yield required(field)
        return
    for place, version in enumerate(versions):
        if version in versions[:place]:
            yield invalid_value(f"{field}[{place}]", version, "duplicate version")
        else:
            for problem in dns_1035_label_problems(version):
                yield invalid_value(f"{field}[{place}]", version, problem)
    if not set(versions) & set(_REVIEW_VERSIONS):
        yield invalid_value(field, versions, f"must include at least one of {', '.join(_REVIEW_VERSIONS)}")
