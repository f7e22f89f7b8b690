"""What the fields of a Job's spec have to do with each other, in a Job and in a CronJob's template."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.go_text import quoted_list
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.apps import check_selects_own
from moorage.cluster.kinds.batch.job_indexes import IndexProblem, count_indexes
from moorage.cluster.kinds.common import shown_inside
from moorage.cluster.schema.checking import Around, check, relates
from moorage.cluster.schema.forms import dns_subdomain_problems

INDEXED = "Indexed"
MANY = 100_000  # completions
MANY_AT_ONCE = 10_000

_NEEDS_INDEXES = "requires indexed completion mode"
_LONGEST_MANAGER = 63
_LONGEST_INDEXES = 64 * 1024
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")


def is_indexed(spec: Document) -> bool:
    return bool(spec.get("completionMode") == INDEXED)


@relates("batch.v1.JobSpec")
def _failed_indexes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")


@relates("batch.v1.JobSpec", where="managedBy")
def _manager(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    manager, place = spec["managedBy"], f"{path}.managedBy"
    domain, _, rest = manager.partition("/")
    if not manager:
        yield errors.required(place)
    elif not domain or not rest:
        yield errors.invalid_value(place, manager, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        for problem in dns_subdomain_problems(domain):
            yield errors.invalid_value(place, domain, problem)
        if not re.fullmatch(_HTTP_PATH, rest):
            text = f"Invalid path (regex used for validation is '{_HTTP_PATH}')"
            yield errors.invalid_value(place, rest, text)
    if len(manager.encode()) > _LONGEST_MANAGER:
        yield errors.too_long(place, _LONGEST_MANAGER)


@relates("batch.v1.JobSpec")
def _completion_mode(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", INDEXED):
        yield errors.unsupported_value(f"{path}.completionMode", mode, ("NonIndexed", INDEXED))
    if mode == INDEXED:
        yield from _check_indexed(spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield errors.invalid_value(f"{path}.{name}", spec[name], _NEEDS_INDEXES)


def _check_indexed(spec: Document, path: str) -> Iterator[Cause]:
    completions, failed = spec.get("completions"), spec.get("maxFailedIndexes")
    parallelism = spec.get("parallelism", 0)
    if completions is None:
        yield errors.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism > MANY:
        text = f"must be less than or equal to {MANY} when completion mode is Indexed"
        yield errors.invalid_value(f"{path}.parallelism", parallelism, text)
    if completions is not None and failed is not None and failed > completions:
        text = "must be less than or equal to completions"
        yield errors.invalid_value(f"{path}.maxFailedIndexes", failed, text)
    if failed is not None and failed > MANY:
        text = f"must be less than or equal to {MANY}"
        yield errors.invalid_value(f"{path}.maxFailedIndexes", failed, text)
    if (completions or 0) > MANY and spec.get("backoffLimitPerIndex") is not None:
        text = (
            f"must be less than or equal to {MANY_AT_ONCE} when completions are above {MANY} and used with "
            "backoff limit per index"
        )
        if failed is None:
            why = f"must be specified when completions is above {MANY}"
            yield errors.required(f"{path}.maxFailedIndexes", why)
        if parallelism > MANY_AT_ONCE:
            yield errors.invalid_value(f"{path}.parallelism", parallelism, text)
        if failed is not None and failed > MANY_AT_ONCE:
            yield errors.invalid_value(f"{path}.maxFailedIndexes", failed, text)


@relates("batch.v1.JobSpec", where="successPolicy")
def _success(spec: Document, path: str, around: Around) -> Iterable[Cause]:
    policy, place = spec["successPolicy"], f"{path}.successPolicy"
    if not is_indexed(spec):
        rules = [shown_inside(each, "SucceededIndexes", "SucceededCount") for each in policy["rules"] or ()]
        return [errors.invalid_value(place, {"Rules": rules}, _NEEDS_INDEXES)]
    return check("batch.v1.SuccessPolicy", policy, place, {"batch.v1.JobSpec": spec})


@relates("batch.v1.SuccessPolicyRule")
def _succeeded(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    completions = around["batch.v1.JobSpec"].get("completions") or 0
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        text = "at least one of succeededCount or succeededIndexes must be specified"
        yield errors.required(path, text)
    named = 0
    if indexes is not None:
        place = f"{path}.succeededIndexes"
        if len(indexes) > _LONGEST_INDEXES:
            yield errors.too_long(place, _LONGEST_INDEXES)
        try:
            named = count_indexes(indexes, completions)
        except IndexProblem as problem:
            yield errors.invalid_value(place, indexes, f"error parsing succeededIndexes: {problem}")
    if count is not None:
        place, most = f"{path}.succeededCount", "must be less than or equal to"
        if count < 0:
            yield errors.invalid_value(place, count, "must be greater than or equal to 0")
        if count > completions:
            text = f"{most} {completions} (the number of specified completions)"
            yield errors.invalid_value(place, count, text)
        if indexes is not None and count > named:
            text = f"{most} {named} (the number of indexes in the specified succeededIndexes field)"
            yield errors.invalid_value(place, count, text)


@relates("batch.v1.JobSpec", where="podReplacementPolicy")
def _replacement(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    given = spec["podReplacementPolicy"]
    known = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
    if given not in known:
        yield errors.unsupported_value(f"{path}.podReplacementPolicy", given, known)


@relates("batch.v1.JobSpec")
def _restarts(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    given, place = spec["template"]["spec"].get("restartPolicy", ""), f"{path}.template.spec.restartPolicy"
    if given in ("", "Always"):
        yield errors.required(place, 'valid values: "OnFailure", "Never"')
    elif given not in ("OnFailure", "Never"):
        yield errors.unsupported_value(place, given, ("OnFailure", "Never"))
    elif given != "Never" and spec.get("podFailurePolicy") is not None:
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield errors.invalid_value(place, given, text)


@relates("batch.v1.JobSpec")
def _selection(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    """The selector of a Job; that of a CronJob's template is made with each Job."""
    if "batch.v1.CronJob" in around:
        return
    selector, place = spec.get("selector"), f"{path}.selector"
    if selector is None:
        yield errors.required(place)
    broken = check("meta.v1.LabelSelector", selector, place)
    yield from broken or check_selects_own(spec, path)


# Which failures count


@relates("batch.v1.PodFailurePolicyRule")
def _action(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    action, place = rule.get("action", ""), f"{path}.action"
    if not action:
        yield errors.required(place, f"valid values: {quoted_list(_ACTIONS)}")
    elif action == "FailIndex":
        if around["batch.v1.JobSpec"].get("backoffLimitPerIndex") is None:
            yield errors.invalid_value(place, action, "requires the backoffLimitPerIndex to be set")
    elif action not in _ACTIONS:
        yield errors.unsupported_value(place, action, _ACTIONS)


@relates("batch.v1.PodFailurePolicyRule")
def _one_requirement(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    codes, conditions = rule.get("onExitCodes") is not None, bool(rule.get("onPodConditions"))
    if codes == conditions:
        what = "both OnExitCodes and OnPodConditions is not supported"
        what = what if codes else "one of OnExitCodes and OnPodConditions is required"
        yield Cause("FieldValueInvalid", path, f"Invalid value: specifying {what}")


@relates("batch.v1.PodFailurePolicyOnExitCodesRequirement")
def _exit_codes(codes: Document, path: str, around: Around) -> Iterator[Cause]:
    operator, place = codes.get("operator", ""), f"{path}.operator"
    if not operator:
        yield errors.required(place, f"valid values: {quoted_list(_OPERATORS)}")
    elif operator not in _OPERATORS:
        yield errors.unsupported_value(place, operator, _OPERATORS)
    pod, name = around["batch.v1.JobSpec"]["template"]["spec"], codes.get("containerName")
    known = [each.get("name") for kind in ("containers", "initContainers") for each in pod.get(kind) or ()]
    if name is not None and name not in known:
        text = "must be one of the container or initContainer names in the pod template"
        yield errors.invalid_value(f"{path}.containerName", name, text)
    values, place = codes.get("values"), f"{path}.values"
    if not values:
        yield errors.invalid_value(place, values, "at least one value is required")
        return
    if len(values) > 255:
        yield errors.too_many(place, len(values), 255)
    for number, value in enumerate(values):
        if operator == "In" and value == 0:
            yield errors.invalid_value(f"{place}[{number}]", value, "must not be 0 for the In operator")
        if value in values[:number]:
            yield errors.duplicate_value(f"{place}[{number}]", value)
    if values != sorted(values):
        yield errors.invalid_value(place, values, "must be ordered")
