"""Reviews of tokens, users and access; answers are those of kube-apiserver v1.36."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.access.reviews import Reviews
from moorage.cluster.access.users import MASTERS, User
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from tests.cluster.access.world import ISSUER, World, recorded_world, user

ADMIN = User("admin", "admin", (MASTERS, "system:authenticated"))
PODS = {"namespace": "harbour", "verb": "get", "resource": "pods"}
BY_READER = 'RBAC: allowed by RoleBinding "reader/harbour" of Role "reader" to '
ABSENT = (
    '[clusterrole.rbac.authorization.k8s.io "absent" not found,'
    ' role.rbac.authorization.k8s.io "absent" not found]'
)


def review(
    kind: str,
    spec: Document | None = None,
    *,
    asking: User = ADMIN,
    world: World | None = None,
    namespace: str = "",
    **more: Any,
) -> Document:
    world = world or recorded_world()
    group = "authentication" if kind in ("TokenReview", "SelfSubjectReview") else "authorization"
    document: Document = {"kind": kind, "apiVersion": f"{group}.k8s.io/v1", **more}
    if spec is not None:
        document["spec"] = spec
    reviews = Reviews(world.tokens, world.store, world.authorizer, lambda: world.now)
    return reviews.review(kind, document, user=asking, namespace=namespace)


def refusal(kind: str, spec: Document | None = None, **more: Any) -> Refusal:
    with pytest.raises(Refusal) as refused:
        review(kind, spec, **more)
    return refused.value


class TestAccessOfOthers:
    @pytest.mark.parametrize(
        ("spec", "status"),
        [
            (
                {"user": "alice", "resourceAttributes": PODS},
                {"allowed": True, "reason": f'{BY_READER}User "alice"'},
            ),
            ({"user": "alice", "resourceAttributes": {**PODS, "verb": "delete"}}, {"allowed": False}),
            (
                {"user": "dora", "resourceAttributes": {**PODS, "verb": "delete"}},
                {"allowed": False, "reason": f"RBAC: {ABSENT}"},
            ),
            (
                {"user": "x", "groups": ["team"], "resourceAttributes": PODS},
                {"allowed": True, "reason": f'{BY_READER}Group "team"'},
            ),
            (
                {"user": "system:serviceaccount:harbour:bob", "resourceAttributes": PODS},
                {"allowed": True, "reason": f'{BY_READER}ServiceAccount "bob/harbour"'},
            ),
            ({"user": "x", "groups": ["system:masters"], "resourceAttributes": PODS}, {"allowed": True}),
            (
                {
                    "user": "x",
                    "groups": ["system:authenticated"],
                    "nonResourceAttributes": {"path": "/api", "verb": "get"},
                },
                {
                    "allowed": True,
                    "reason": 'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole'
                    ' "system:discovery" to Group "system:authenticated"',
                },
            ),
            ({"user": "x", "nonResourceAttributes": {"path": "/api", "verb": "get"}}, {"allowed": False}),
            ({"user": "x", "resourceAttributes": {}}, {"allowed": False}),
            ({"groups": ["x"], "nonResourceAttributes": {}}, {"allowed": False}),
            (
                {"user": "alice", "uid": "1", "extra": {"a": ["b"]}, "resourceAttributes": PODS},
                {"allowed": True, "reason": f'{BY_READER}User "alice"'},
            ),
        ],
    )
    def test_the_answer(self, spec: Document, status: Document) -> None:
        assert review("SubjectAccessReview", spec, status={"allowed": True, "reason": "x"}) == {
            "kind": "SubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": spec,
            "status": status,
        }

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                {
                    "user": "x",
                    "nonResourceAttributes": {"path": "/api", "verb": "get"},
                    "resourceAttributes": PODS,
                },
                'spec.nonResourceAttributes: Invalid value: {"Path":"/api","Verb":"get"}:'
                " cannot be specified in combination with resourceAttributes",
            ),
            (
                {"user": "x"},
                "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or"
                " resourceAttributes must be specified",
            ),
            (
                None,
                "[spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or"
                " resourceAttributes must be specified,"
                ' spec.user: Invalid value: "": at least one of user or group must be specified]',
            ),
            (
                {"user": "x", "resourceAttributes": {**PODS, "fieldSelector": {}}},
                "spec.resourceAttributes.fieldSelector.requirements: Required value: when"
                " spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is"
                " required",
            ),
            (
                {
                    "user": "x",
                    "resourceAttributes": {
                        **PODS,
                        "fieldSelector": {
                            "rawSelector": "a=b",
                            "requirements": [{"key": "", "operator": "In"}],
                        },
                        "labelSelector": {
                            "requirements": [
                                {"key": "-", "operator": "In"},
                                {"key": "a", "operator": "Exists", "values": ["a"]},
                                {"key": "a", "operator": "Foo", "values": ["a"]},
                            ]
                        },
                    },
                },
                '[spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: "a=b": may not specified'
                " at the same time as requirements,"
                " spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be"
                " specified,"
                " spec.resourceAttributes.fieldSelector.requirements[0].values: Required value: must be"
                " specified when `operator` is 'In' or 'NotIn',"
                " spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be"
                " specified when `operator` is 'In' or 'NotIn',"
                ' spec.resourceAttributes.labelSelector.requirements[0].key: Invalid value: "-": name part'
                " must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
                " alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for"
                " validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'),"
                " spec.resourceAttributes.labelSelector.requirements[1].values: Forbidden: may not be"
                " specified when `operator` is 'Exists' or 'DoesNotExist']",
            ),
        ],
    )
    def test_a_review_that_breaks_rules(self, spec: Document | None, message: str) -> None:
        found = refusal("SubjectAccessReview", spec)
        assert found.code == 422
        assert found.message == f'.authorization.k8s.io "" is invalid: {message}'
        assert found.details is not None
        assert found.details.keys() == {"group", "causes"}

    def test_it_has_no_metadata(self) -> None:
        spec = {"user": "x", "resourceAttributes": PODS}
        metadata = {"name": "foo", "creationTimestamp": None}
        assert refusal("SubjectAccessReview", spec, metadata=metadata).message == (
            '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"foo"}: must be empty'
        )
        answer = review("SubjectAccessReview", spec, metadata={"namespace": "x", "creationTimestamp": None})
        assert answer["metadata"] == {}

    @pytest.mark.parametrize(
        ("selectors", "error"),
        [
            (
                {"fieldSelector": {"rawSelector": "a b c"}, "labelSelector": {"rawSelector": "a b"}},
                "spec.resourceAttributes.fieldSelector ignored due to parse error;"
                " spec.resourceAttributes.labelSelector ignored due to parse error",
            ),
            (
                {
                    "fieldSelector": {
                        "requirements": [
                            {"key": "a", "operator": "Foo", "values": ["x"]},
                            {"key": "a", "operator": "In", "values": ["b"]},
                            {"key": "c", "operator": "Exists"},
                        ]
                    },
                    "labelSelector": {"requirements": [{"key": "a", "operator": "Foo", "values": ["x"]}]},
                },
                "spec.resourceAttributes.fieldSelector partially ignored due to parse error;"
                " spec.resourceAttributes.labelSelector ignored due to parse error",
            ),
            (
                {
                    "fieldSelector": {"rawSelector": "metadata.name=a"},
                    "labelSelector": {"requirements": [{"key": "a", "operator": "Exists"}]},
                },
                None,
            ),
        ],
    )
    def test_selectors_that_are_not_understood(self, selectors: Document, error: str | None) -> None:
        spec = {"user": "x", "resourceAttributes": {**PODS, **selectors}}
        status = review("SubjectAccessReview", spec)["status"]
        assert status == {"allowed": False, **({"evaluationError": error} if error else {})}


class TestLocalReviews:
    kind = "LocalSubjectAccessReview"

    def test_the_answer(self) -> None:
        spec = {"user": "alice", "resourceAttributes": PODS}
        answer = review(self.kind, spec, namespace="harbour")
        assert answer["metadata"] == {"namespace": "harbour"}
        assert answer["status"] == {"allowed": True, "reason": f'{BY_READER}User "alice"'}

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            (
                {"user": "alice", "resourceAttributes": {**PODS, "namespace": "x"}},
                'spec.resourceAttributes.namespace: Invalid value: "x": must match metadata.namespace',
            ),
            (
                {"user": "alice", "nonResourceAttributes": {"path": "/a", "verb": "get"}},
                'spec.nonResourceAttributes: Invalid value: {"Path":"/a","Verb":"get"}: disallowed on this'
                " kind of request",
            ),
        ],
    )
    def test_rules(self, spec: Document, message: str) -> None:
        found = refusal(self.kind, spec, namespace="harbour")
        assert found.message == f'.authorization.k8s.io "" is invalid: {message}'

    def test_metadata(self) -> None:
        spec = {"user": "alice", "resourceAttributes": PODS}
        found = refusal(self.kind, spec, namespace="harbour", metadata={"namespace": "other"})
        assert (found.code, found.message) == (
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        )
        found = refusal(self.kind, spec, namespace="harbour", metadata={"name": "x"})
        assert found.message == (
            '.authorization.k8s.io "" is invalid: metadata: Invalid value:'
            ' {"name":"x","namespace":"harbour"}: must be empty except for namespace'
        )


class TestOneself:
    def test_access(self) -> None:
        spec = {"resourceAttributes": PODS}
        kind = "SelfSubjectAccessReview"
        assert review(kind, spec)["status"] == {"allowed": True}
        assert review(kind, spec, asking=user("other"))["status"] == {"allowed": False}
        answer = review(kind, spec, asking=user("alice"))
        assert answer["status"] == {"allowed": True, "reason": f'{BY_READER}User "alice"'}
        assert refusal(kind, {}).message == (
            '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null:'
            " exactly one of nonResourceAttributes or resourceAttributes must be specified"
        )

    def test_rules(self) -> None:
        answer = review("SelfSubjectRulesReview", {"namespace": "harbour"}, asking=user("alice"))
        assert answer["metadata"] == answer["spec"] == {}
        assert answer["status"] == {
            "resourceRules": [
                {
                    "verbs": ["create"],
                    "apiGroups": ["authorization.k8s.io"],
                    "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                },
                {
                    "verbs": ["create"],
                    "apiGroups": ["authentication.k8s.io"],
                    "resources": ["selfsubjectreviews"],
                },
                {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]},
                {"verbs": ["get"], "apiGroups": [""], "resources": ["*/scale"]},
                {
                    "verbs": ["*"],
                    "apiGroups": [""],
                    "resources": ["configmaps"],
                    "resourceNames": ["one"],
                },
                {
                    "verbs": ["create", "update", "get", "patch"],
                    "apiGroups": ["rbac.authorization.k8s.io"],
                    "resources": ["roles", "rolebindings"],
                },
            ],
            "nonResourceRules": [
                {
                    "verbs": ["get"],
                    "nonResourceURLs": [
                        "/api",
                        "/api/*",
                        "/apis",
                        "/apis/*",
                        "/healthz",
                        "/livez",
                        "/openapi",
                        "/openapi/*",
                        "/readyz",
                        "/version",
                        "/version/",
                    ],
                },
                {
                    "verbs": ["get"],
                    "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"],
                },
            ],
            "incomplete": False,
        }

    def test_rules_that_cannot_all_be_found(self) -> None:
        answer = review("SelfSubjectRulesReview", {"namespace": "harbour"}, asking=user("dora"))
        assert answer["status"]["evaluationError"] == ABSENT
        assert refusal("SelfSubjectRulesReview", {}).message == "no namespace on request"

    def test_an_administrator_has_the_rules_of_its_group(self) -> None:
        status = review("SelfSubjectRulesReview", {"namespace": "x"}, world=World())["status"]
        assert status["resourceRules"][0] == {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
        assert status["nonResourceRules"][0] == {"verbs": ["*"], "nonResourceURLs": ["*"]}

    def test_who_it_is(self) -> None:
        assert review("SelfSubjectReview", metadata={"name": "x"}) == {
            "kind": "SelfSubjectReview",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {"creationTimestamp": "2026-11-15T23:03:41Z"},
            "status": {
                "userInfo": {
                    "username": "admin",
                    "uid": "admin",
                    "groups": ["system:masters", "system:authenticated"],
                }
            },
        }
        zoe = User("zoe", groups=("a",), extra={"team": ("blue",), "a": ("b", "c")})
        assert review("SelfSubjectReview", asking=zoe)["status"]["userInfo"] == {
            "username": "zoe",
            "groups": ["a"],
            "extra": {"a": ["b", "c"], "team": ["blue"]},
        }


class TestTokenReviews:
    def test_a_good_token(self) -> None:
        world = recorded_world()
        world.account("bob")
        token = world.tokens.issue("harbour", "bob", "uid-of-bob", seconds=600, audiences=[ISSUER, "x"])[0]
        answer = review("TokenReview", {"token": token}, world=world, metadata={"name": "x"})
        status = answer["status"]
        credential = status["user"]["extra"].pop("authentication.kubernetes.io/credential-id")
        assert credential[0].startswith("JTI=")
        assert answer["metadata"] == {"name": "x"}
        assert status == {
            "authenticated": True,
            "user": {
                "username": "system:serviceaccount:harbour:bob",
                "uid": "uid-of-bob",
                "groups": [
                    "system:serviceaccounts",
                    "system:serviceaccounts:harbour",
                    "system:authenticated",
                ],
                "extra": {},
            },
            "audiences": [ISSUER],
        }
        spec = {"token": token, "audiences": ["a"]}
        assert review("TokenReview", spec, world=world)["status"] == {
            "user": {},
            "error": f'[invalid bearer token, token audiences ["{ISSUER}" "x"] is invalid'
            ' for the target audiences ["a"]]',
        }

    def test_a_bad_one_and_none(self) -> None:
        status = review("TokenReview", {"token": "x"})["status"]
        assert status == {"user": {}, "error": "invalid bearer token"}
        found = refusal("TokenReview", {})
        assert (found.code, found.message) == (400, "token is required for TokenReview in authentication")
