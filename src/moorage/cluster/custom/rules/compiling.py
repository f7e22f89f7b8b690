"""From the rules of a schema to programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from moorage.cel.environment import Environment, Program, ResultTypeError
from moorage.cel.evaluation.planner import ProgramError
from moorage.cel.libraries import authorization
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.syntax.source import CompileError
from moorage.cel.types import BOOL, STRING, Type, optional_of
from moorage.cluster.base.store import Document
from moorage.cluster.custom.rules.declared_types import DeclaredType, Objects
from moorage.cluster.custom.structural import PathProblem, follow
from moorage.cluster.schema.model import Schema

RULES = "x-kubernetes-validations"
SELF, OLD_SELF = "self", "oldSelf"
MOST_COST = 1_000_000
"""Of one evaluation of one expression."""
_SELF_TYPE = "selfType0"  # that of the original ends in another number each time


@dataclass(slots=True)
class CompiledRule:
    """A rule with its programs, or with what is wrong with them."""

    rule: Document
    program: Program | None = None
    error: str = ""
    message_program: Program | None = None
    message_error: str = ""
    uses_old_self: bool = False
    field: str = ""
    """Of which part it speaks: a path that goes on from where the rule stands."""

    @property
    def may_lack_old_self(self) -> bool:
        return self.rule.get("optionalOldSelf") is True


@cache
def _environment() -> Environment:
    return Environment((*KUBERNETES, authorization.LIBRARY), {}, cost_limit=MOST_COST)


def compile_rules(rules: Sequence[Document], schema: Schema, declared: DeclaredType) -> list[CompiledRule]:
    """The rules that stand at a schema, for values of its type."""
    objects = Objects()
    own = objects.named(declared, _SELF_TYPE)

    def environment(rule: Document, result: Type) -> Environment:
        old = optional_of(own) if rule.get("optionalOldSelf") is True else own
        variables = {SELF: own, OLD_SELF: old}
        return _environment().extended(
            variables, objects=objects, size_of=declared.size_of, result_types=(result,)
        )

    found = []
    for rule in rules:
        compiled = CompiledRule(rule)
        found.append(compiled)
        if not rule.get("rule", "").strip():
            continue
        compiled.program, compiled.error = _compile(
            environment(rule, BOOL), rule["rule"], "", "cel expression must evaluate to a bool"
        )
        if compiled.program is None:
            continue
        compiled.uses_old_self = OLD_SELF in compiled.program.names
        if message := rule.get("messageExpression"):
            compiled.message_program, compiled.message_error = _compile(
                environment(rule, STRING),
                message,
                "messageExpression ",
                "messageExpression must evaluate to a string",
            )
            if compiled.message_program is None:
                continue
        compiled.field = _field_of(rule, schema)
    return found


def _compile(
    environment: Environment, expression: str, what: str, wrong_type: str
) -> tuple[Program | None, str]:
    """The program, or why there is none."""
    try:
        return environment.compile(expression), ""
    except ResultTypeError:
        return None, wrong_type
    except ProgramError as error:
        return None, f"{what or 'program '}instantiation failed: {error}"
    except CompileError as error:
        return None, f"{what}compilation failed: {error}"


def _field_of(rule: Document, schema: Schema) -> str:
    """The path in the rule, as causes write paths."""
    try:
        names, _ = follow(schema, rule.get("fieldPath") or "")
    except PathProblem:
        return ""
    field = ""
    for name in names:
        if schema.fields:
            field = f"{field}.{name}" if field else name
            schema = schema.fields[name].schema
        else:
            field += f"[{name}]"
            assert schema.values is not None
            schema = schema.values
    return field
