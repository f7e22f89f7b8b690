"""Everybody who has a say in what is written, in the order in which they are asked."""

from __future__ import annotations

from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.base.store import Store
from moorage.cluster.base.webhook_client import WebhookClient
from moorage.cluster.objects.hooks.policies import Policies
from moorage.cluster.objects.hooks.webhooks import Readmit, Webhooks
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.schema.definitions import Definitions


class Hooks:
    """Writes whose options have no answers are the cluster's own business: nobody is asked about them."""

    def __init__(
        self, store: Store, definitions: Definitions, authorizer: Authorizer, client: WebhookClient
    ) -> None:
        self._webhooks = Webhooks(store, definitions, authorizer, client)
        self._policies = Policies(store, definitions, authorizer)

    @property
    def is_idle(self) -> bool:
        """Whether nobody is to be asked about anything."""
        return self._webhooks.is_idle and self._policies.is_idle

    def mutate(self, wish: Wish, readmit: Readmit = lambda document: None) -> Wish:
        """The wish as webhooks have changed it. Raises Unanswered, or a Refusal."""
        answers = wish.options.answers
        return wish if answers is None else self._webhooks.mutate(wish, answers, readmit)

    def validate(self, wish: Wish) -> None:
        """Raises the Refusal of a policy, then of a webhook, or Unanswered while webhooks are to be asked."""
        answers = wish.options.answers
        if answers is not None:
            self._policies.validate(wish)
            self._webhooks.validate(wish, answers)

    def admit(self, wish: Wish) -> Wish:
        """Both, for what is not checked by the server in between."""
        wish = self.mutate(wish)
        self.validate(wish)
        return wish
