"""Admission webhooks: those that change what is to be written, one by one, and those that judge it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.base.errors import Refusal, bad_request, forbidden
from moorage.cluster.base.outside import Answers
from moorage.cluster.base.store import Change, Document, Store
from moorage.cluster.base.webhook_client import WebhookClient
from moorage.cluster.kinds.admission_hooks import MUTATING, VALIDATING
from moorage.cluster.objects.hooks.matching import fitting_definition, is_chosen
from moorage.cluster.objects.hooks.reviews import (
    NoAnswer,
    Reply,
    Review,
    Verdict,
    denied,
    internal_error,
    patched,
    review_version,
    verdict_of,
)
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.definitions import Definition, Definitions

log = logging.getLogger(__name__)

_DRY = ("None", "NoneOnDryRun")
Readmit = Callable[[Document], None]
"""Has the server itself complete a document again that a webhook has changed, in place."""


@dataclass(frozen=True)
class Hook:
    """One webhook of one configuration."""

    id: str
    document: Document

    @property
    def name(self) -> str:
        return str(self.document["name"])

    @property
    def fails(self) -> bool:
        """Whether a request is refused when it cannot be asked."""
        return self.document.get("failurePolicy") != "Ignore"

    @property
    def is_asked_again(self) -> bool:
        return self.document.get("reinvocationPolicy") == "IfNeeded"


class Webhooks:
    """All webhooks, by the configurations in the store as they are at that moment."""

    def __init__(
        self, store: Store, definitions: Definitions, authorizer: Authorizer, client: WebhookClient
    ) -> None:
        self._store = store
        self._definitions = definitions
        self._authorizer = authorizer
        self._client = client
        self._hooks: dict[str, list[Hook]] = {}
        for resource in (MUTATING, VALIDATING):
            store.listen(resource, self._changed)

    def _changed(self, change: Change) -> None:
        self._hooks.pop(change.resource, None)

    def _of(self, resource: str) -> list[Hook]:
        """In the order of the names of their configurations, then as they are listed."""
        if resource not in self._hooks:
            self._hooks[resource] = [
                Hook(f"{stored.name}/{hook.get('name')}/{place}", hook)
                for stored in self._store.objects(resource)
                for place, hook in enumerate(stored.document.get("webhooks") or ())
            ]
        return self._hooks[resource]

    @property
    def is_idle(self) -> bool:
        return not self._of(MUTATING) and not self._of(VALIDATING)

    def mutate(self, wish: Wish, answers: Answers, readmit: Readmit) -> Wish:
        """The wish with what webhooks make of it. Raises Unanswered, or a Refusal."""
        hooks = self._of(MUTATING)
        if not hooks or wish.is_exempt:
            return wish
        before: set[str] = set()
        """Those that are to be asked again if somebody changes something after them."""
        again: set[str] = set()
        changed = False
        for hook in hooks:
            wish, called, differs = self._mutated(hook, wish, answers)
            if differs:
                again, before, changed = again | before, set(), True
            if called and hook.is_asked_again:
                before.add(hook.id)
        if not changed or wish.document is None:
            return wish
        known = wish.document
        completed = _copied(known)
        readmit(completed)
        wish = replace(wish, document=completed)
        if completed != known:
            again |= before
        for hook in hooks:
            if hook.id in again:
                wish, _, _ = self._mutated(hook, wish, answers, round=1)
        return wish

    def _mutated(self, hook: Hook, wish: Wish, answers: Answers, round: int = 0) -> tuple[Wish, bool, bool]:
        """What is wished for then, and whether the webhook was asked and has changed it."""
        definition = self._calls(hook, wish)
        if definition is None:
            return wish, False, False
        try:
            review = self._review(hook, wish, definition, f"{hook.id}#{round}")
            verdict = self._verdict(hook, wish, answers.of(review), review.version, mutating=True)
        except NoAnswer as error:
            _fail(hook, error)
            return wish, True, False
        if verdict.patch is None:
            return wish, True, False
        document = wish.seen_as(definition, wish.document)
        if document is None:
            why = "attempted to modify the object, which is not supported for this operation"
            raise internal_error(f'admission webhook "{hook.name}" {why}')
        try:
            changed = wish.taken_from(definition, patched(document, verdict.patch))
        except Undecodable as error:
            raise internal_error(error.problem) from None
        except Refusal as refusal:
            raise refusal if refusal.reason == "InternalError" else internal_error(refusal.message) from None
        (wish.kind or wish.definition).strategy.default(changed)
        return replace(wish, document=changed), True, changed != wish.document

    def validate(self, wish: Wish, answers: Answers) -> None:
        """Asks all at once. Raises Unanswered, or the Refusal of the first that says no."""
        hooks = self._of(VALIDATING)
        if not hooks or wish.is_exempt:
            return
        asked: list[tuple[Hook, Review]] = []
        failed: list[tuple[Hook, NoAnswer]] = []
        for hook in hooks:
            if (definition := self._calls(hook, wish)) is not None:
                try:
                    asked.append((hook, self._review(hook, wish, definition, hook.id)))
                except NoAnswer as error:
                    failed.append((hook, error))
        replies = answers.all_of(review for _, review in asked)
        refusals: list[Refusal] = []
        for (hook, review), reply in zip(asked, replies, strict=True):
            judge = partial(self._verdict, hook, wish, reply, review.version, mutating=False)
            try:
                judge()
            except Refusal as refusal:
                refusals.append(refusal)
            except NoAnswer as error:
                failed.append((hook, error))
        for hook, problem in failed:
            try:
                _fail(hook, problem)
            except Refusal as refusal:
                refusals.append(refusal)
        if refusals:
            raise refusals[0]

    def _calls(self, hook: Hook, wish: Wish) -> Definition | None:
        """The version in which the webhook is to see the request; None if it is not for it."""
        document = hook.document
        chosen, problem = is_chosen(document, wish, self._store)
        if not chosen:
            return None
        rules, policy = document.get("rules") or (), document.get("matchPolicy", "")
        definition = fitting_definition(rules, policy, wish, self._definitions)
        if definition is None:
            return None
        if problem is not None:
            raise problem
        conditions = document.get("matchConditions")
        return definition if not conditions or self._meant(hook, wish, definition, conditions) else None

    def _meant(self, hook: Hook, wish: Wish, definition: Definition, conditions: list[Document]) -> bool:
        from moorage.cluster.objects.hooks.conditions import ConditionsFailed, webhook_is_meant

        try:
            return webhook_is_meant(conditions, wish, definition, self._authorizer, fails=hook.fails)
        except ConditionsFailed as error:
            raise forbidden(wish.definition.name, wish.name, str(error)) from None

    def _review(self, hook: Hook, wish: Wish, definition: Definition, hook_id: str) -> Review:
        if wish.options.dry_run and hook.document.get("sideEffects") not in _DRY:
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        version = review_version(hook.document)
        return Review(self._client, hook.document, hook_id, version, wish.request(definition))

    def _verdict(self, hook: Hook, wish: Wish, reply: Reply, version: str, *, mutating: bool) -> Verdict:
        verdict = verdict_of(reply, version, mutating=mutating)
        wish.options.warnings += [each for each in verdict.warnings if isinstance(each, str)]
        if not verdict.allowed:
            raise denied(hook.name, verdict.status)
        return verdict


def _fail(hook: Hook, error: NoAnswer) -> None:
    """Does what the failure policy says of a webhook that gave no answer."""
    if hook.fails:
        raise internal_error(f'failed calling webhook "{hook.name}": {error}')
    log.warning('Webhook "%s" was passed over, as its failure policy says: %s', hook.name, error)


def _copied(value: Document) -> Document:
    return {name: _copied_value(each) for name, each in value.items()}


def _copied_value(value: object) -> object:
    if isinstance(value, dict):
        return _copied(value)
    return [_copied_value(each) for each in value] if isinstance(value, list) else value
