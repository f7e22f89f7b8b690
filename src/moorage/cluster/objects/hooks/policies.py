"""Admission policies: rules in expressions that are asked without leaving the process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import part, selector_of
from moorage.cluster.base.store import Change, Document, Store, Stored
from moorage.cluster.kinds.admission_policies import BINDINGS, POLICIES
from moorage.cluster.objects.decoding import from_stored
from moorage.cluster.objects.hooks.matching import fitting_definition, is_chosen
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.definitions import Definition, Definitions

if TYPE_CHECKING:
    from moorage.cluster.objects.hooks.judging import Judge

_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


class _Misconfigured(Exception):
    """A policy or a binding cannot be used."""


class Denial(NamedTuple):
    """What a policy has against a request."""

    message: str
    reason: str = ""


class Policies:
    """All policies with their bindings, as they are in the store at that moment."""

    def __init__(self, store: Store, definitions: Definitions, authorizer: Authorizer) -> None:
        self._store = store
        self._definitions = definitions
        self._authorizer = authorizer
        self._judges: dict[str, Judge] = {}
        self._bindings: dict[str, list[Stored]] | None = None
        store.listen(POLICIES, self._policy_changed)
        store.listen(BINDINGS, self._binding_changed)

    def _policy_changed(self, change: Change) -> None:
        self._judges.pop(change.new.name, None)

    def _binding_changed(self, change: Change) -> None:
        self._bindings = None

    def _bound(self) -> dict[str, list[Stored]]:
        """The bindings by the names of their policies."""
        if self._bindings is None:
            self._bindings = {}
            for binding in self._store.objects(BINDINGS):
                self._bindings.setdefault(binding.spec.get("policyName", ""), []).append(binding)
        return self._bindings

    def _judge_of(self, policy: Stored) -> Judge:
        if policy.name not in self._judges:
            from moorage.cluster.objects.hooks.judging import Judge  # expressions take long to load

            self._judges[policy.name] = Judge(policy.spec, self._store, self._authorizer)
        return self._judges[policy.name]

    @property
    def is_idle(self) -> bool:
        return not self._bound()

    def validate(self, wish: Wish) -> None:
        """Raises the Refusal of the first policy that denies the request; what they warn of is noted."""
        if not self._bound() or wish.is_exempt:
            return
        denials = [
            (told, denial)
            for name, bindings in sorted(self._bound().items())
            if (policy := self._store.get(POLICIES, "", name)) is not None
            for told, denial in self._denials(policy, bindings, wish)
        ]
        if denials:
            raise _refusal(wish, *denials[0])

    def _denials(self, policy: Stored, bindings: list[Stored], wish: Wish) -> Iterator[tuple[str, Denial]]:
        """Who denies the request, and why."""
        by = f"ValidatingAdmissionPolicy '{policy.name}'"
        fails = policy.spec.get("failurePolicy") != "Ignore"
        definition = self._matches(policy.spec.get("matchConstraints") or {}, wish)
        if isinstance(definition, Refusal):
            if fails:
                yield by, Denial(f"failed to configure policy: {definition.message}")
            return
        if definition is None:
            return
        try:
            parameters = self._parameters_of(policy)
        except _Misconfigured as error:
            if fails:
                yield by, Denial(f"failed to configure policy: {error}")
            return
        for binding in bindings:
            told = f"{by} with binding '{binding.name}'"
            try:
                if not self._binding_matches(binding, wish):
                    continue
                found = _collected(self._store, parameters, binding.spec.get("paramRef"), wish.namespace)
            except _Misconfigured as error:
                if fails:
                    yield told, Denial(f"failed to configure binding: {error}")
                continue
            for params in found:
                decisions, broken = self._judge_of(policy).judge(wish, definition, params)
                for denial in decisions:
                    yield from _acted(binding, wish, told, denial)
                for message in broken:
                    yield told, Denial(message)

    def _matches(self, match: Document, wish: Wish) -> Definition | Refusal | None:
        """The version in which the request is looked at; None if it is not; what is wrong with a selector."""
        chosen, problem = is_chosen(match, wish, self._store)
        if not chosen:
            return None
        policy = match.get("matchPolicy", "")
        excluded = match.get("excludeResourceRules") or ()
        if excluded and fitting_definition(excluded, policy, wish, self._definitions) is not None:
            return None
        rules = match.get("resourceRules") or ()
        found = fitting_definition(rules, policy, wish, self._definitions) if rules else wish.definition
        return found if found is None or problem is None else problem

    def _binding_matches(self, binding: Stored, wish: Wish) -> bool:
        match = binding.spec.get("matchResources")
        if match is None:
            return True
        found = self._matches(match, wish)
        if isinstance(found, Refusal):
            raise _Misconfigured(found.message)
        return found is not None

    def _parameters_of(self, policy: Stored) -> Definition | None:
        """The resource of the objects that are parameters, if there are any."""
        kind = policy.spec.get("paramKind")
        if kind is None:
            return None
        wanted = kind.get("apiVersion", ""), kind.get("kind", "")
        for definition in self._definitions:
            if (definition.api_version, definition.kind) == wanted:
                return definition
        shown = f"{wanted[0]}, Kind={wanted[1]}"
        raise _Misconfigured(f"failed to find resource referenced by paramKind: '{shown}'")


def _acted(binding: Stored, wish: Wish, told: str, denial: Denial) -> Iterator[tuple[str, Denial]]:
    """What a denial leads to, as the binding says: it counts, or is only warned of."""
    for action in binding.spec.get("validationActions") or ():
        if action == "Deny":
            yield told, denial
        elif action == "Warn":
            wish.options.warnings.append(f"Validation failed for {told}: {denial.message}")


def _collected(
    store: Store, definition: Definition | None, reference: Document | None, namespace: str
) -> list[Document | None]:
    """The parameters that a binding names: each is for one round. None stands for no parameters."""
    if definition is None or reference is None:
        return [None]
    place = ""
    if definition.namespaced:
        place = reference.get("namespace") or namespace
        if not place:
            raise _Misconfigured(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif reference.get("namespace"):
        raise _Misconfigured("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    if name := reference.get("name"):
        stored = store.get(definition.storage, place, name)
        found = [] if stored is None else [stored]
    else:
        selector = selector_of(part(reference, "selector"))
        found = [each for each in store.objects(definition.storage, place) if selector.matches(each.labels)]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise _Misconfigured("no params found for policy binding with `Deny` parameterNotFoundAction")
    return [from_stored(definition, each.document) for each in found]


def _refusal(wish: Wish, told: str, denial: Denial) -> Refusal:
    message = f"{told} denied request: {denial.message}"
    reason = denial.reason or "Invalid"
    resource, name = wish.definition, wish.name
    shown = f'{resource.name} "{name}" is forbidden' if name else f"{resource.name} is forbidden"
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return Refusal(
        _CODES.get(reason, 422),
        reason,
        f"{shown}: {message}",
        details={**{key: text for key, text in details.items() if text}, "causes": [{"message": message}]},
    )
