"""Who makes a request, and as whom; texts are those of kube-apiserver v1.36."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.access.authentication import Authenticator
from moorage.cluster.access.users import MASTERS, Attributes, User
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from tests.cluster.access.world import World, rule

NODES = Attributes("list", "", "v1", "nodes")
REVIEW = Attributes("create", "authentication.k8s.io", "v1", "selfsubjectreviews")
ADMIN = User("admin", "admin", (MASTERS, "system:authenticated"))
NOBODY = User("system:anonymous", groups=("system:unauthenticated",))
BOB = "system:serviceaccount:harbour:bob"


class Door:
    """An authenticator at which an administrator and the service account bob can knock."""

    def __init__(self, *rights: Document) -> None:
        self.world = World()
        self.world.tokens.add("secret", User("admin", "admin", (MASTERS,)))
        self.world.account("bob")
        self.token = self.world.tokens.issue("harbour", "bob", "uid-of-bob", seconds=600)[0]
        if rights:
            self.world.grant("ServiceAccount/harbour/bob", *rights)
        self.authenticator = Authenticator(self.world.tokens, self.world.store, self.world.authorizer)

    def knock(
        self, attributes: Attributes = REVIEW, token: str | None = None, /, **headers: str | list[str]
    ) -> User:
        given_headers = {
            name.replace("_", "-"): [value] if isinstance(value, str) else value
            for name, value in headers.items()
        }
        if token is not None:
            given_headers["authorization"] = [f"Bearer {token}"]
        return self.authenticator.authenticate(given_headers, attributes)

    def refusal(self, attributes: Attributes = REVIEW, /, **headers: str | list[str]) -> Refusal:
        with pytest.raises(Refusal) as refused:
            self.knock(attributes, self.token, **headers)
        return refused.value


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Bearer secret", ADMIN),
        ("bearer secret", ADMIN),
        ("  BEARER secret and more", ADMIN),
        ("Bearer  secret", NOBODY),
        ("Bearer", NOBODY),
        ("Bearer ", NOBODY),
        ("Basic secret", NOBODY),
        ("", NOBODY),
    ],
)
def test_the_token_says_who_it_is(header: str, expected: User) -> None:
    assert Door().knock(authorization=header) == expected


def test_without_a_token_it_is_nobody_and_with_a_wrong_one_it_is_refused() -> None:
    door = Door()
    assert door.knock() == NOBODY
    with pytest.raises(Refusal) as refused:
        door.knock(REVIEW, "garbage")
    assert refused.value.document() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }
    found = door.knock(REVIEW, door.token)
    assert (found.name, found.uid) == (BOB, "uid-of-bob")


class TestActingAsSomebodyElse:
    @pytest.mark.parametrize(
        ("headers", "expected"),
        [
            (
                {
                    "impersonate_user": "zoe",
                    "impersonate_group": ["a", "b"],
                    "impersonate_uid": "u",
                    "impersonate_extra_foo": "a",
                    "impersonate_extra_acme.com%2ffoo": ["a", "c"],
                },
                User(
                    "zoe",
                    "u",
                    ("a", "b", "system:authenticated"),
                    {"foo": ("a",), "acme.com/foo": ("a", "c")},
                ),
            ),
            (
                {"impersonate_user": "system:serviceaccount:harbour:default"},
                User(
                    "system:serviceaccount:harbour:default",
                    groups=(
                        "system:serviceaccounts",
                        "system:serviceaccounts:harbour",
                        "system:authenticated",
                    ),
                ),
            ),
            (
                {"impersonate_user": "system:serviceaccount:harbour:default", "impersonate_group": "g"},
                User("system:serviceaccount:harbour:default", groups=("g", "system:authenticated")),
            ),
            ({"impersonate_user": "system:anonymous"}, NOBODY),
            (
                {"impersonate_user": "zoe", "impersonate_group": "system:unauthenticated"},
                User("zoe", groups=("system:unauthenticated",)),
            ),
            (
                {"impersonate_user": "zoe", "impersonate_group": MASTERS},
                User("zoe", groups=(MASTERS, "system:authenticated")),
            ),
            (
                {"impersonate_user": "system:node:n1"},
                User("system:node:n1", groups=("system:nodes", "system:authenticated")),
            ),
            (
                {"impersonate_user": "system:node:n1", "impersonate_group": "g"},
                User("system:node:n1", groups=("g", "system:authenticated")),
            ),
            ({"impersonate_user": ""}, ADMIN),
        ],
    )
    def test_an_administrator_can_be_anybody(
        self, headers: dict[str, str | list[str]], expected: User
    ) -> None:
        assert Door().knock(REVIEW, "secret", **headers) == expected

    @pytest.mark.parametrize(
        ("headers", "shown"),
        [
            ({"impersonate_group": "g"}, 'UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)'),
            (
                {"impersonate_uid": "u", "impersonate_group": "g", "impersonate_extra_foo": "a"},
                'UID:"u", Groups:[]string{"g"}, Extra:map[string][]string{"foo":[]string{"a"}}',
            ),
            ({"impersonate_uid": "u"}, 'UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        ],
    )
    def test_without_a_name_it_is_refused(self, headers: dict[str, str], shown: str) -> None:
        refusal = Door().refusal(**headers)
        assert refusal.code == 400
        assert refusal.message == (
            f'requested &user.DefaultInfo{{Name:"", {shown}}} without impersonating a user name'
        )

    @pytest.mark.parametrize(
        ("attributes", "name", "message"),
        [
            (
                NODES,
                "zoe",
                f'nodes is forbidden: User "{BOB}" cannot impersonate-on:user-info:list resource "nodes"'
                ' in API group "" at the cluster scope',
            ),
            (
                Attributes("get", "", "v1", "pods", "status", "harbour", "a"),
                "system:serviceaccount:harbour:default",
                f'pods "a" is forbidden: User "{BOB}" cannot impersonate-on:serviceaccount:get resource'
                ' "pods/status" in API group "" in the namespace "harbour"',
            ),
            (
                NODES,
                "system:node:n1",
                f'nodes is forbidden: User "{BOB}" cannot impersonate-on:arbitrary-node:list resource'
                ' "nodes" in API group "" at the cluster scope',
            ),
            (
                Attributes("get", path="/version"),
                "zoe",
                f'forbidden: User "{BOB}" cannot impersonate-on:user-info:get path "/version"',
            ),
        ],
    )
    def test_who_has_no_right_to_it_is_refused(self, attributes: Attributes, name: str, message: str) -> None:
        refusal = Door().refusal(attributes, impersonate_user=name)
        assert (refusal.code, refusal.message) == (403, message)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            (
                "system:node:n1",
                f'users "system:node:n1" is forbidden: User "{BOB}" cannot impersonate resource "users"'
                ' in API group "" at the cluster scope',
            ),
            (
                "system:serviceaccount:harbour:default",
                f'serviceaccounts "default" is forbidden: User "{BOB}" cannot impersonate resource'
                ' "serviceaccounts" in API group "" in the namespace "harbour"',
            ),
        ],
    )
    def test_with_groups_only_the_wide_way_is_left(self, name: str, message: str) -> None:
        assert Door().refusal(NODES, impersonate_user=name, impersonate_group="g").message == message

    def test_the_wide_way(self) -> None:
        door = Door(
            rule("core", "users", "impersonate", "zoe"),
            rule("core", "groups", "impersonate", "dev"),
            rule("authentication.k8s.io", "userextras/team", "impersonate", "blue"),
        )
        review = "selfsubjectreviews.authentication.k8s.io is forbidden:"
        assert door.refusal(impersonate_user="zoe", impersonate_group="admins").message == (
            f'{review} User "{BOB}" cannot impersonate-on:user-info:create resource "selfsubjectreviews"'
            ' in API group "authentication.k8s.io" at the cluster scope'
        )
        found = door.knock(REVIEW, door.token, impersonate_user="zoe", impersonate_group="dev")
        assert found == User("zoe", groups=("dev", "system:authenticated"))
        # From now on the refusals are about the way that was used.
        cannot = f'User "{BOB}" cannot impersonate resource'
        at_cluster = "at the cluster scope"
        assert door.refusal(impersonate_user="zoe", impersonate_group="admins").message == (
            f'groups "admins" is forbidden: {cannot} "groups" in API group "" {at_cluster}'
        )
        assert door.refusal(impersonate_user="yan").message == (
            f'users "yan" is forbidden: {cannot} "users" in API group "" {at_cluster}'
        )
        assert door.refusal(impersonate_user="zoe", impersonate_uid="7").message == (
            f'uids.authentication.k8s.io "7" is forbidden: {cannot} "uids"'
            f' in API group "authentication.k8s.io" {at_cluster}'
        )
        found = door.knock(REVIEW, door.token, impersonate_user="zoe", impersonate_extra_team="blue")
        assert found.extra == {"team": ("blue",)}
        assert door.refusal(impersonate_user="zoe", impersonate_extra_team="red").message == (
            f'userextras.authentication.k8s.io "red" is forbidden: {cannot} "userextras/team"'
            f' in API group "authentication.k8s.io" {at_cluster}'
        )


class TestTheNarrowWays:
    group = "authentication.k8s.io"
    rights = (
        rule(group, "users groups", "impersonate:user-info", "zoe dev"),
        rule(
            group,
            "selfsubjectreviews",
            "impersonate-on:user-info:create impersonate-on:serviceaccount:create"
            " impersonate-on:arbitrary-node:create",
        ),
        rule(group, "serviceaccounts", "impersonate:serviceaccount", "bob"),
        rule(group, "userextras/acme.io/team", "impersonate:user-info"),
        rule(group, "nodes", "impersonate:arbitrary-node", "n1"),
    )

    @pytest.mark.parametrize(
        ("headers", "groups"),
        [
            ({"impersonate_user": "zoe"}, ()),
            ({"impersonate_user": "zoe", "impersonate_group": "dev"}, ("dev",)),
            ({"impersonate_user": "zoe", "impersonate_extra_acme.io%2fteam": "blue"}, ()),
            ({"impersonate_user": BOB}, ("system:serviceaccounts", "system:serviceaccounts:harbour")),
            ({"impersonate_user": "system:node:n1"}, ("system:nodes",)),
        ],
    )
    def test_what_is_allowed(self, headers: dict[str, str], groups: tuple[str, ...]) -> None:
        door = Door(*self.rights)
        found = door.knock(REVIEW, door.token, **headers)
        assert (found.name, found.groups) == (headers["impersonate_user"], (*groups, "system:authenticated"))
        with pytest.raises(Refusal):
            door.knock(NODES, door.token, **headers)

    @pytest.mark.parametrize(
        ("headers", "what", "way", "place", "why"),
        [
            ({"impersonate_group": "admins"}, 'groups "admins"', "user-info", "", ""),
            ({"impersonate_group": ["a", "b", "c", "d"]}, 'groups "a"', "user-info", "", ""),
            ({"impersonate_user": "yan"}, 'users "yan"', "user-info", "", ""),
            (
                {"impersonate_group": MASTERS},
                'groups "system:masters"',
                "user-info",
                "",
                ": impersonating the system:masters group is not allowed",
            ),
            (
                {"impersonate_group": ""},
                "groups",
                "user-info",
                "",
                ": impersonating the empty string group is not allowed",
            ),
            ({"impersonate_uid": "7"}, 'uids "7"', "user-info", "", ""),
            (
                {"impersonate_extra_team": "blue"},
                "userextras",
                "user-info",
                "",
                ": impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                ' "team": must be a domain-prefixed path (such as "acme.io/foo")',
            ),
            (
                {"impersonate_extra_acme.io%2fteam": ""},
                "userextras",
                "user-info",
                "",
                ": impersonating the empty string value in extra is not allowed",
            ),
            (
                {"impersonate_extra_a!me.io%2fteam": "x"},
                "userextras",
                "user-info",
                "",
                ": impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                ' "a!me.io": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric'
                " characters, '-' or '.', and must start and end with an alphanumeric character (e.g."
                " 'example.com', regex used for validation is"
                " '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
            ),
            (
                {"impersonate_extra_ac%zz": "x"},
                "userextras",
                "user-info",
                "",
                ": impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                ' "ac%zz": must be a domain-prefixed path (such as "acme.io/foo")',
            ),
            (
                {"impersonate_extra_a.b%2fc%20d%2f": "x"},
                "userextras",
                "user-info",
                "",
                ": impersonating an invalid key in extra is not allowed: extra.key: Invalid value:"
                ' "c d/": Invalid path (regex used for validation is'
                " '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
            ),
            (
                {"impersonate_user": "system:serviceaccount:harbour:eve"},
                'serviceaccounts "eve"',
                "serviceaccount",
                "harbour",
                "",
            ),
            ({"impersonate_user": "system:node:n2"}, 'nodes "n2"', "arbitrary-node", "", ""),
            ({"impersonate_user": "system:node:N!"}, 'users "system:node:N!"', "user-info", "", ""),
            (
                {"impersonate_user": "system:serviceaccount:x"},
                'users "system:serviceaccount:x"',
                "user-info",
                "",
                "",
            ),
        ],
    )
    def test_what_is_not(
        self, headers: dict[str, str | list[str]], what: str, way: str, place: str, why: str
    ) -> None:
        refusal = Door(*self.rights).refusal(**{"impersonate_user": "zoe", **headers})
        resource, space, name = what.partition(" ")
        scope = f'in the namespace "{place}"' if place else "at the cluster scope"
        assert refusal.message == (
            f"{resource}.authentication.k8s.io{space}{name} is forbidden:"
            f' User "{BOB}" cannot impersonate:{way} resource "{resource}"'
            f' in API group "authentication.k8s.io" {scope}{why}'
        )

    def test_the_node_an_account_runs_on(self) -> None:
        door = Door(
            rule("core", "nodes", "impersonate-on:associated-node:list"),
            rule(self.group, "nodes", "impersonate:associated-node"),
        )
        world = door.world
        world.put("pods", {"metadata": {"name": "p", "namespace": "harbour", "uid": "1"}})
        bound = world.tokens.issue(
            "harbour", "bob", "uid-of-bob", seconds=600, pod=("p", "1"), node=("n1", "")
        )[0]
        found = door.knock(NODES, bound, impersonate_user="system:node:n1")
        assert found == User("system:node:n1", groups=("system:nodes", "system:authenticated"))
        with pytest.raises(Refusal):
            door.knock(NODES, bound, impersonate_user="system:node:n2")
        assert door.refusal(NODES, impersonate_user="system:node:n1").code == 403


DOOR = Door()
header_names = st.one_of(
    st.sampled_from(
        ("authorization", "impersonate-user", "impersonate-uid", "impersonate-group", "impersonate-extra-")
    ),
    st.text(max_size=8).map(lambda text: f"impersonate-extra-{text}".lower()),
)
bytes_of_headers = st.binary(max_size=12).map(lambda data: data.decode("utf-8", "surrogateescape"))
header_values = st.lists(
    st.one_of(bytes_of_headers, st.sampled_from(("Bearer secret", "zoe", "system:node:a", "x%2fy"))),
    max_size=3,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(header_names, header_values, max_size=5))
def test_headers_of_any_kind_give_a_user_or_a_refusal(headers: dict[str, list[str]]) -> None:
    try:
        user = DOOR.authenticator.authenticate(headers, REVIEW)
    except Refusal as refusal:
        refusal.message.encode()
        assert refusal.code in (400, 401, 403)
    else:
        for text in (user.name, user.uid, *user.groups, *user.extra, *sum(user.extra.values(), ())):
            text.encode()
