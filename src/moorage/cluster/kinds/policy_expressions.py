"""The expressions of an admission policy."""

from __future__ import annotations

from moorage.cel.types import Type
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.admission_expressions import (
    ANNOTATION,
    ANYTHING,
    CONDITION,
    MESSAGE,
    Compiled,
    Declared,
    compiled,
)


class Expressions:
    """All expressions of a policy, compiled: those of variables first, in their order."""

    def __init__(self, spec: Document) -> None:
        self.has_params = spec.get("paramKind") is not None
        self._declared: Declared | None = () if spec.get("variables") else None
        self.variables: dict[str, Compiled] = {}
        for variable in spec.get("variables") or ():
            found = self._compiled(variable.get("expression", ""), ANYTHING)
            self.variables[variable.get("name", "")] = found
            self._declared = (*(self._declared or ()), (variable.get("name", ""), found.type))
        self.conditions = [
            compiled(each.get("expression", "").strip(), CONDITION, has_params=self.has_params)
            for each in spec.get("matchConditions") or ()
        ]
        validations = spec.get("validations") or ()
        self.validations = [self._compiled(each.get("expression", ""), CONDITION) for each in validations]
        self.messages = [self.message(each) for each in validations]
        self.annotations = [
            self._compiled(each.get("valueExpression", "").strip(), ANNOTATION)
            for each in spec.get("auditAnnotations") or ()
        ]

    def message(self, validation: Document) -> Compiled | None:
        text = validation.get("messageExpression", "")
        return self._compiled(text, MESSAGE, has_authorizer=False) if text.strip() else None

    def _compiled(
        self, expression: str, results: tuple[Type, ...], *, has_authorizer: bool = True
    ) -> Compiled:
        return compiled(
            expression,
            results,
            has_params=self.has_params,
            has_authorizer=has_authorizer,
            variables=self._declared,
        )
