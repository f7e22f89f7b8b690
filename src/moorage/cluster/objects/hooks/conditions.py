"""Conditions in expressions, and what expressions see of a request. Loading this takes a while."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from moorage.cel.libraries.authorization import Authorizer as AuthorizerValue
from moorage.cel.libraries.authorization import Right
from moorage.cel.values import Failure
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.users import Attributes, User, account_groups, account_username
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.admission_expressions import (
    CONDITION,
    CONDITIONS_BUDGET,
    Compiled,
    OutOfBudget,
    Scene,
    compiled,
)
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.definitions import Definition


class ConditionsFailed(Exception):
    """Whether conditions hold could not be found out."""


def webhook_is_meant(
    conditions: Iterable[Document], wish: Wish, definition: Definition, authorizer: Authorizer, *, fails: bool
) -> bool:
    """Whether the conditions of a webhook hold for a request. Raises ConditionsFailed."""

    def scene() -> Scene:
        request = wish.request(definition)
        return Scene(
            document=request["object"],
            old=request["oldObject"],
            request=request,
            authorizer=authorizer_of(wish, authorizer),
            budget=CONDITIONS_BUDGET,
        )

    expressions = (compiled(each["expression"].strip(), CONDITION) for each in conditions)
    return conditions_hold(expressions, scene, fails=fails)


def conditions_hold(conditions: Iterable[Compiled], scene: Callable[[], Scene], *, fails: bool) -> bool:
    """Whether all of them do. One that does not decides, whatever is wrong with others.

    Otherwise something wrong raises ConditionsFailed if `fails`, and else counts as no.
    """
    expressions = list(conditions)
    if not expressions:
        return True
    try:
        problems = list(_problems(expressions, scene()))
    except OutOfBudget as error:
        problems = [str(error)]
    if None in problems:
        return False
    if problems and fails:
        texts = list(dict.fromkeys(str(problem) for problem in problems))
        raise ConditionsFailed(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
    return not problems


def _problems(expressions: Iterable[Compiled], scene: Scene) -> Iterator[str | None]:
    """What is wrong; None for a condition that does not hold."""
    for expression in expressions:
        value = scene.value(expression)
        if isinstance(value, Failure):
            yield value.message
        elif value is not True:
            yield None
            return


def authorizer_of(wish: Wish, authorizer: Authorizer) -> AuthorizerValue:
    """What expressions ask about rights."""

    def decide(account: tuple[str, str] | None, right: Right) -> tuple[bool, str]:
        user = wish.options.user
        if account is not None:
            user = User(account_username(*account), groups=account_groups(account[0]))
        verb, group, resource, subresource, namespace, name, path = right
        version = "*" if path is None else ""
        attributes = Attributes(verb, group, version, resource, subresource, namespace, name, path)
        allowed, reason = authorizer.decide(user, attributes)
        return allowed, reason

    return AuthorizerValue(decide)
