"""Expressions in conditions of webhooks and in admission policies: what they may use, and their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from moorage.cel.environment import Environment, Program, ResultTypeError
from moorage.cel.evaluation.planner import ProgramError
from moorage.cel.libraries import authorization
from moorage.cel.libraries.authorization import Authorizer, ResourceCheck
from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.syntax.source import CompileError
from moorage.cel.types import BOOL, DYN, INT, NULL, STRING, TIMESTAMP, Type, list_of, map_of
from moorage.cel.values import MISSING, DeclaredMap, Failure
from moorage.cluster.base.store import Document

BUDGET = 10_000_000
"""What all expressions of a policy may cost for one object and one set of parameters."""
CONDITIONS_BUDGET = 2_500_000
_MOST_COST = 1_000_000
_NO_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
_VARIABLES = Type("kubernetes.variables")

_TEXTS = list_of(STRING)
_LABELS = map_of(STRING, STRING)
_KIND, _RESOURCE = Type("kubernetes.GroupVersionKind"), Type("kubernetes.GroupVersionResource")
_USER, _REQUEST = Type("kubernetes.UserInfo"), Type("kubernetes.AdmissionRequest")
_NAMESPACE = Type("kubernetes.Namespace")
_OBJECTS: dict[str, dict[str, Type]] = {
    _KIND.name: {"group": STRING, "version": STRING, "kind": STRING},
    _RESOURCE.name: {"group": STRING, "version": STRING, "resource": STRING},
    _USER.name: {
        "username": STRING,
        "uid": STRING,
        "groups": _TEXTS,
        "extra": map_of(STRING, _TEXTS),
    },
    _REQUEST.name: {
        "kind": _KIND,
        "resource": _RESOURCE,
        "subResource": STRING,
        "requestKind": _KIND,
        "requestResource": _RESOURCE,
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
    _NAMESPACE.name: {
        "metadata": Type("kubernetes.NamespaceMetadata"),
        "spec": Type("kubernetes.NamespaceSpec"),
        "status": Type("kubernetes.NamespaceStatus"),
    },
    "kubernetes.NamespaceSpec": {"finalizers": _TEXTS},
    "kubernetes.NamespaceStatus": {
        "conditions": list_of(Type("kubernetes.NamespaceCondition")),
        "phase": STRING,
    },
    "kubernetes.NamespaceCondition": {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
    "kubernetes.NamespaceMetadata": {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": _LABELS,
        "annotations": _LABELS,
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _TEXTS,
    },
}
_NAMESPACE_FIELDS = (*_OBJECTS["kubernetes.NamespaceMetadata"], "uid")

CONDITION = (BOOL,)
MESSAGE = (STRING,)
ANNOTATION = (STRING, NULL)
ANYTHING: tuple[Type, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    """An expression with its program, or with what is wrong with it."""

    expression: str
    program: Program | None
    error: str = ""
    names: tuple[str, ...] = ()
    """Of the variables that the program takes, in order."""

    @property
    def type(self) -> Type:
        """What it results in, for those that refer to it."""
        return DYN if self.program is None else self.program.result_type


Declared = tuple[tuple[str, Type], ...]
"""Composed variables with their types."""


@lru_cache(maxsize=1024)
def compiled(
    expression: str,
    results: tuple[Type, ...],
    *,
    has_params: bool = False,
    has_authorizer: bool = True,
    variables: Declared | None = None,
) -> Compiled:
    """`variables` are those of a policy that are known so far; None where there are none to refer to."""
    declared = {"object": DYN, "oldObject": DYN, "namespaceObject": _NAMESPACE, "request": _REQUEST}
    objects: dict[str, Mapping[str, Type]] = dict(_OBJECTS)
    if has_params:
        declared["params"] = DYN
    if has_authorizer:
        declared["authorizer"] = authorization.AUTHORIZER
        declared["authorizer.requestResource"] = authorization.RESOURCE_CHECK
    if variables is not None:
        declared["variables"] = _VARIABLES
        objects[_VARIABLES.name] = dict(variables)
    environment = Environment(
        (*KUBERNETES, authorization.LIBRARY),
        declared,
        objects=objects,
        cost_limit=_MOST_COST,
        result_types=results,
    )
    try:
        return Compiled(expression, environment.compile(expression), names=tuple(declared))
    except ResultTypeError as error:
        wanted = " ".join(map(str, results))
        wanted = wanted if len(results) == 1 else f"one of [{wanted}]"
        problem = f"must evaluate to {wanted} but got {error}"
    except ProgramError as error:
        problem = f"program instantiation failed: {error}"
    except CompileError as error:
        problem = f"compilation failed: {error}"
    return Compiled(expression, None, problem)


class OutOfBudget(Exception):
    """The expressions have cost too much."""

    def __init__(self) -> None:
        super().__init__(_NO_BUDGET)


class _Composed(DeclaredMap):
    """The variables of a policy, each computed when it is first asked for."""

    __slots__ = ("_programs", "_run", "raw")

    def __init__(self, programs: Mapping[str, Compiled], run: Callable[[Compiled], Any]) -> None:
        self._programs = programs
        self._run = run
        self.raw: dict[str, Any] = {}

    def find(self, key: Any) -> Any:
        if key not in self._programs:
            return MISSING
        if key not in self.raw:
            variable = self._programs[key]
            value = self._run(variable)
            if isinstance(value, Failure):
                how = "fails to compile" if variable.program is None else "fails to evaluate"
                value = Failure(f'composited variable "{key}" {how}: {value.message}')
            self.raw[key] = value
        return self.raw[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._programs)


class Scene:
    """What expressions see of one request, and what is left of their budget."""

    def __init__(
        self,
        *,
        document: Document | None,
        old: Document | None,
        request: Document,
        authorizer: Authorizer,
        params: Document | None = None,
        namespace: Document | None = None,
        variables: Mapping[str, Compiled] | None = None,
        budget: int = BUDGET,
    ) -> None:
        self._budget = budget
        resource = request["requestResource"]
        self._values: dict[str, Any] = {
            "object": document,
            "oldObject": old,
            "namespaceObject": None if namespace is None else _seen_namespace(namespace),
            "request": {
                name: value for name, value in request.items() if name not in ("object", "oldObject")
            },
            "params": params,
            "authorizer": authorizer,
            "authorizer.requestResource": ResourceCheck(
                authorizer,
                resource["group"],
                resource["resource"],
                request.get("requestSubResource", ""),
                request.get("namespace", ""),
                request.get("name", ""),
            ),
            "variables": _Composed(variables or {}, self._run),
        }

    def value(self, expression: Compiled) -> Any:
        """The value, or a Failure. Raises OutOfBudget."""
        result = self._run(expression)
        if self._budget < 0:
            raise OutOfBudget
        if isinstance(result, Failure) and expression.program is None:
            return Failure(f"compilation error: {result.message}")
        if isinstance(result, Failure):
            return Failure(f"expression '{expression.expression}' resulted in error: {result.message}")
        return result

    def values(self, expressions: Sequence[Compiled]) -> list[Any]:
        return [self.value(each) for each in expressions]

    def _run(self, expression: Compiled) -> Any:
        if expression.program is None:
            return Failure(expression.error)
        result, cost = expression.program.outcome(*(self._values[name] for name in expression.names))
        self._budget -= cost
        return result


def _seen_namespace(namespace: Document) -> Document:
    """Of its metadata, some things are left out."""
    metadata = {name: value for name, value in namespace["metadata"].items() if name in _NAMESPACE_FIELDS}
    return {
        **{name: namespace[name] for name in ("spec", "status") if name in namespace},
        "metadata": metadata,
    }
