"""Which requests a webhook or a policy is for: by rules, namespaces and labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from moorage.api.selectors import Selector
from moorage.cluster.base.errors import Refusal, not_found
from moorage.cluster.base.parts import selector_of
from moorage.cluster.base.store import Document, Store
from moorage.cluster.objects.admission.attempt import CREATE, UPDATE
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.definitions import Definition, Definitions


def is_chosen(holder: Document, wish: Wish, store: Store) -> tuple[bool, Refusal | None]:
    """By namespace and labels; the refusal is for a request that would be chosen by its rules."""
    matches, problem = _namespace_matches(_selector(holder.get("namespaceSelector")), wish, store)
    if not matches and problem is None:
        return False, None
    selector = _selector(holder.get("objectSelector"))
    return selector.empty or any(selector.matches(each) for each in wish.labels()), problem


def _selector(selector: Document | None) -> Selector:
    return _parsed(msgspec.json.encode(selector or {}))


@lru_cache(maxsize=1024)
def _parsed(text: bytes) -> Selector:
    return selector_of(msgspec.json.decode(text))


def _namespace_matches(selector: Selector, wish: Wish, store: Store) -> tuple[bool, Refusal | None]:
    if selector.empty or (not wish.namespace and not wish.is_of_namespace):
        return True, None
    if wish.is_of_namespace and not wish.subresource and wish.operation in (CREATE, UPDATE):
        return selector.matches(wish.labels()[0]), None
    found = store.get("namespaces", "", wish.namespace)
    if found is None:
        return False, not_found("namespaces", wish.namespace)
    return selector.matches(found.labels), None


def fitting_definition(
    rules: Sequence[Document], match_policy: str, wish: Wish, definitions: Definitions
) -> Definition | None:
    """The version in which a rule names the resource: that of the request, or one with the same objects.

    Earlier rules come first.
    """
    own = wish.definition
    if any(_fits(rule, wish, own) for rule in rules):
        return own
    if match_policy != "Equivalent":
        return None
    others = [each for each in definitions if each.storage == own.storage and each is not own]
    others = [each for each in others if not wish.subresource or wish.subresource in each.subresources]
    return next((other for rule in rules for other in others if _fits(rule, wish, other)), None)


def _fits(rule: Document, wish: Wish, definition: Definition) -> bool:
    names = rule.get("resourceNames")
    return (
        _in_scope(rule.get("scope") or "*", wish)
        and _is_in(wish.operation, rule.get("operations"))
        and _is_in(definition.group, rule.get("apiGroups"))
        and _is_in(definition.version, rule.get("apiVersions"))
        and any(
            _is_resource(each, definition.plural, wish.subresource) for each in rule.get("resources") or ()
        )
        and (not names or wish.name in names)
    )


def _in_scope(scope: str, wish: Wish) -> bool:
    is_namespaced = bool(wish.namespace) and not wish.is_of_namespace
    return scope == "*" or is_namespaced == (scope == "Namespaced")


def _is_in(value: str, given: Iterable[str] | None) -> bool:
    return any(each in ("*", value) for each in given or ())


def _is_resource(given: str, plural: str, subresource: str) -> bool:
    resource, _, part = given.partition("/")
    return resource in ("*", plural) and part in ("*", subresource)
