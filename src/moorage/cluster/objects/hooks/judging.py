"""What the expressions of an admission policy say of a request. Loading this takes a while."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cel.values import Failure
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.base.store import Document, Store
from moorage.cluster.kinds.admission_expressions import BUDGET, CONDITIONS_BUDGET, OutOfBudget, Scene
from moorage.cluster.kinds.policy_expressions import Expressions
from moorage.cluster.objects.hooks.conditions import ConditionsFailed, authorizer_of, conditions_hold
from moorage.cluster.objects.hooks.policies import Denial
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.definitions import Definition

_MOST_BYTES = 5 * 1024
"""Of a message that is computed."""


class Judge:
    """One policy, with its expressions compiled."""

    def __init__(self, spec: Document, store: Store, authorizer: Authorizer) -> None:
        self._spec = spec
        self._store = store
        self._authorizer = authorizer
        self._fails = spec.get("failurePolicy") != "Ignore"
        self._expressions = Expressions(spec)

    def judge(
        self, wish: Wish, definition: Definition, params: Document | None
    ) -> tuple[list[Denial], list[str]]:
        """What validations have against the request, and what is wrong with audit annotations."""

        def scene(budget: int = BUDGET) -> Scene:
            return self._scene(wish, definition, params, budget)

        conditions = self._expressions.conditions
        try:
            if not conditions_hold(conditions, lambda: scene(CONDITIONS_BUDGET), fails=self._fails):
                return [], []
            decisions = list(self._decisions(scene()))
            values = scene().values(self._expressions.annotations)
        except (ConditionsFailed, OutOfBudget) as error:
            return ([Denial(str(error))] if self._fails else []), []
        broken = [value.message for value in values if isinstance(value, Failure)]
        return decisions, broken if self._fails else []

    def _scene(self, wish: Wish, definition: Definition, params: Document | None, budget: int) -> Scene:
        request = wish.request(definition)
        namespace = None if wish.is_of_namespace else self._store.get("namespaces", "", wish.namespace)
        return Scene(
            document=request["object"],
            old=request["oldObject"],
            request=request,
            authorizer=authorizer_of(wish, self._authorizer),
            params=params,
            namespace=None if namespace is None else namespace.document,
            variables=self._expressions.variables,
            budget=budget,
        )

    def _decisions(self, scene: Scene) -> Iterator[Denial]:
        spec, expressions, fails = self._spec, self._expressions, self._fails
        validations = spec.get("validations") or ()
        results = scene.values(expressions.validations)
        messages = [None if each is None else scene.value(each) for each in expressions.messages]
        for validation, result, computed in zip(validations, results, messages, strict=True):
            if isinstance(result, Failure):
                if fails:
                    yield Denial(result.message)
            elif result is not True:
                text = computed.strip() if isinstance(computed, str) else ""
                if "\n" in text or len(text.encode(errors="replace")) > _MOST_BYTES:
                    text = ""
                text = text or (validation.get("message") or "").strip()
                text = text or f"failed expression: {validation['expression'].strip()}"
                yield Denial(text, validation.get("reason") or "Invalid")
