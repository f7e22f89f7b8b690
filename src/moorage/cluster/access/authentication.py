"""Finding out who makes a request, and as whom: `kubectl --as`.

There are several ways to act as somebody else, each with rights of its own. The wide one needs the verb
`impersonate` on who one acts as. The narrow ones, for nodes, service accounts and other users, need
`impersonate:WAY` on who one acts as and `impersonate-on:WAY:VERB` on what is done in that name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from urllib.parse import unquote

from moorage.api.names import dns_subdomain_problems
from moorage.cluster.access import users
from moorage.cluster.access.rbac import Authorizer
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.access.users import Attributes, User, forbidden_refusal
from moorage.cluster.base.errors import Refusal, bad_request, invalid_value, listed, unauthorized
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Store

_OWN_NODE = "associated-node"
_ANY_NODE = "arbitrary-node"
_ACCOUNT = "serviceaccount"
_OTHER = "user-info"
_WIDE = ""
_WAYS = (_OWN_NODE, _ANY_NODE, _ACCOUNT, _OTHER, _WIDE)

_GROUP = "authentication.k8s.io"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_EXTRA_PREFIX = "impersonate-extra-"
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_PATH_FORM = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PATH = re.compile(_PATH_FORM)
_MANY = 4  # from so many values on, the right to all of them is tried first
_MOST_USERS = 10_000
_NOBODY = User(users.ANONYMOUS, groups=(users.UNAUTHENTICATED,))


class Authenticator:
    """Knows users by the token they send, and lets those who may act as somebody else.

    A way that worked for a user is tried first the next time; so the refusal is about the way they use.
    """

    def __init__(self, tokens: Tokens, store: Store, authorizer: Authorizer) -> None:
        self._tokens = tokens
        self._store = store
        self._authorizer = authorizer
        self._used: dict[str, str] = {}

    def authenticate(self, headers: Mapping[str, Sequence[str]], attributes: Attributes) -> User:
        """The user as whom the request is to be made; the names of headers are in lower case.

        Raises a Refusal for a token that is not good and for a user who may not act as another.
        """
        user = self._of_token(headers)
        wanted = _wanted(headers)
        return user if wanted is None else self._become(user, wanted, attributes)

    def _of_token(self, headers: Mapping[str, Sequence[str]]) -> User:
        """Without a token, or with something else than a token, it is nobody."""
        values = headers.get("authorization")
        scheme, _, rest = values[0].strip().partition(" ") if values else ("", "", "")
        token = rest.partition(" ")[0]
        if not token or scheme.lower() != "bearer":
            return _NOBODY
        if user := self._tokens.user_of(token, self._store):
            return user
        raise unauthorized()

    def _become(self, user: User, wanted: User, attributes: Attributes) -> User:
        """The user wanted, with the groups that go with it. Raises a Refusal if that is not allowed."""
        first: Refusal | None = None
        for way in self._ways(user, wanted):
            try:
                found = self._try(way, user, wanted, attributes)
            except Refusal as refusal:
                first = first or refusal
                continue
            if len(self._used) >= _MOST_USERS:
                self._used.clear()
            self._used[user.name] = way
            return found
        assert first is not None, "the wide way is open to all"
        raise first

    def _ways(self, user: User, wanted: User) -> Iterator[str]:
        used = self._used.get(user.name)
        ways = _WAYS if used is None else (used, *(way for way in _WAYS if way != used))
        return (way for way in ways if _leads(way, user, wanted))

    def _try(self, way: str, user: User, wanted: User, attributes: Attributes) -> User:
        require = self._authorizer.require
        narrow = way != _WIDE
        if narrow:
            require(user, attributes._replace(verb=f"impersonate-on:{way}:{attributes.verb}"))
        verb, group = (f"impersonate:{way}", _GROUP) if narrow else ("impersonate", "")
        groups = wanted.groups
        asked = Attributes(verb, group, "v1", "users", name=wanted.name)
        node, account = users.node_of(wanted.name), users.account_of(wanted.name)
        if node is not None and narrow:
            asked = asked._replace(resource="nodes", name="*" if way == _OWN_NODE else node)
            groups = (users.ALL_NODES,)
        elif account is not None:
            asked = asked._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
            groups = groups or users.account_groups(account[0])
        require(user, asked)
        if wanted.uid:
            require(user, Attributes(verb, _GROUP, "v1", "uids", name=wanted.uid))
        self._require_groups(user, wanted.groups, Attributes(verb, group, "v1", "groups"), narrow)
        self._require_extra(user, wanted.extra, Attributes(verb, _GROUP, "v1", "userextras"), narrow)
        known = wanted.name != users.ANONYMOUS and users.UNAUTHENTICATED not in groups
        implied = users.AUTHENTICATED if known else users.UNAUTHENTICATED
        return replace(wanted, groups=groups if implied in groups else (*groups, implied))

    def _require_groups(self, user: User, groups: tuple[str, ...], asked: Attributes, narrow: bool) -> None:
        for group, words in (("", "empty string"), (users.MASTERS, users.MASTERS)):
            if narrow and group in groups:
                why = f"impersonating the {words} group is not allowed"
                raise forbidden_refusal(user, asked._replace(name=group), why)
        self._require_each(user, [asked._replace(name=group) for group in groups], narrow)

    def _require_extra(
        self, user: User, extra: Mapping[str, tuple[str, ...]], asked: Attributes, narrow: bool
    ) -> None:
        if narrow and (why := _extra_problem(extra)):
            raise forbidden_refusal(user, asked, why)
        pairs = [(key, value) for key, values in extra.items() for value in values]
        each = [asked._replace(subresource=key, name=value) for key, value in pairs]
        self._require_each(user, each, narrow)

    def _require_each(self, user: User, asked: list[Attributes], narrow: bool) -> None:
        if narrow and len(asked) >= _MANY:
            any_part = "*" if asked[0].resource == "userextras" else ""
            if self._authorizer.allows(user, asked[0]._replace(subresource=any_part, name="*")):
                return
        for each in asked:
            self._authorizer.require(user, each)


def _wanted(headers: Mapping[str, Sequence[str]]) -> User | None:
    """As whom the request is to be made, if as somebody else."""
    if not any(header.startswith("impersonate-") for header in headers):
        return None
    extra: dict[str, tuple[str, ...]] = {}
    for header, values in headers.items():
        if header.startswith(_EXTRA_PREFIX) and values:
            key = _readable(header.removeprefix(_EXTRA_PREFIX))
            key = key if _BAD_ESCAPE.search(key) else unquote(key)
            extra[key] = (*extra.get(key, ()), *map(_readable, values))
    firsts = (next(iter(headers.get(f"impersonate-{field}", ())), "") for field in ("user", "uid"))
    name, uid = map(_readable, firsts)
    groups = tuple(map(_readable, headers.get("impersonate-group", ())))
    if not name and (uid or groups or extra):
        raise bad_request(f"requested {_shown(uid, groups, extra)} without impersonating a user name")
    return User(name, uid, groups, extra) if name else None


def _leads(way: str, user: User, wanted: User) -> bool:
    """Whether this is a way to act as the one who is wanted."""
    if way == _WIDE:
        return True
    node, account = users.node_of(wanted.name), users.account_of(wanted.name)
    if way == _OTHER:
        return node is None and account is None
    if wanted.uid or wanted.groups or wanted.extra:
        return False
    if way == _ACCOUNT:
        return account is not None
    runs_there = users.account_of(user.name) is not None and user.extra.get(_NODE_NAME) == (node,)
    return node is not None and (way == _ANY_NODE or runs_there)


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        problem = _key_problem(key)
        if problem:
            return f"impersonating an invalid key in extra is not allowed: {problem}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quoted(key)}"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _key_problem(key: str) -> str:
    domain, _, path = key.partition("/")
    if not domain or not path:
        problems = [(key, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    else:
        problems = [(domain, problem) for problem in dns_subdomain_problems(domain)]
        if _PATH.fullmatch(path) is None:
            problems.append((path, f"Invalid path (regex used for validation is '{_PATH_FORM}')"))
    texts = [str(invalid_value("extra.key", value, problem)) for value, problem in problems]
    return listed(texts) if texts else ""


def _readable(text: str) -> str:
    """Without bytes that are no UTF-8, which could not be written into an answer."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _shown(uid: str, groups: tuple[str, ...], extra: Mapping[str, tuple[str, ...]]) -> str:
    """A user as the original shows it in this one message."""
    more = ", ".join(f"{quoted(key)}:{_strings(values)}" for key, values in sorted(extra.items()))
    kept = f"map[string][]string{{{more}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_strings(groups)}, Extra:{kept}}}'


def _strings(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(quoted, texts))}}}" if texts else "[]string(nil)"
