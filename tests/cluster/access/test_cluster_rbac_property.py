"""The authorizer with its indexes decides like a walk over all bindings, roles and rules."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.access.rules import BINDINGS, CLUSTER_BINDINGS, ROLES
from moorage.cluster.access.users import Attributes, User
from moorage.cluster.base.store import Document
from tests.cluster.access.world import CLUSTER_ROLES, World, binding, role

VERBS = ("get", "list", "create")
GROUPS = ("", "apps")
RESOURCES = ("pods", "deployments")
SUBRESOURCES = ("", "status", "scale")
NAMESPACES = ("", "one", "two")
NAMES = ("", "a", "b")
PATHS = ("/api", "/api/v1", "/metrics")
ROLE_NAMES = ("r", "s")
BINDING_NAMES = ("x", "y", "z")
SUBJECTS = ("User/alice", "User/bob", "Group/devs", "ServiceAccount/one/app")
USERS = (
    User("alice"),
    User("bob", groups=("devs",)),
    User("carl", groups=("ops", "devs")),
    User("system:serviceaccount:one:app"),
    User("nobody"),
)


def some(*values: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), max_size=3)


rules = st.fixed_dictionaries(
    {
        "verbs": some(*VERBS, "*"),
        "apiGroups": some(*GROUPS, "*"),
        "resources": some(*RESOURCES, "*", "pods/status", "*/scale", "*/status"),
        "resourceNames": st.one_of(st.just([]), some("a", "b")),
        "nonResourceURLs": some("/api", "/api/*", "/metrics", "*"),
    }
)
role_rules = st.lists(rules, max_size=3)
changes = st.one_of(
    st.tuples(st.just("role"), st.sampled_from(NAMESPACES), st.sampled_from(ROLE_NAMES), role_rules),
    st.tuples(
        st.just("bind"),
        st.sampled_from(NAMESPACES),
        st.sampled_from(BINDING_NAMES),
        st.tuples(
            st.sampled_from(("Role", "ClusterRole")),
            st.sampled_from(ROLE_NAMES),
            st.lists(st.sampled_from(SUBJECTS)),
        ),
    ),
    st.tuples(
        st.just("delete"),
        st.sampled_from(NAMESPACES),
        st.sampled_from((*ROLE_NAMES, *BINDING_NAMES)),
        st.none(),
    ),
)
resource_questions = st.builds(
    Attributes,
    verb=st.sampled_from((*VERBS, "delete")),
    group=st.sampled_from((*GROUPS, "batch")),
    resource=st.sampled_from(RESOURCES),
    subresource=st.sampled_from(SUBRESOURCES),
    namespace=st.sampled_from(NAMESPACES),
    name=st.sampled_from(NAMES),
)
path_questions = st.builds(Attributes, verb=st.sampled_from(VERBS), path=st.sampled_from(PATHS))
questions = st.lists(st.one_of(resource_questions, path_questions), min_size=1, max_size=6)


def naively_allowed(world: World, user: User, asked: Attributes) -> bool:
    store = world.store
    bindings = [stored.document for stored in store.objects(CLUSTER_BINDINGS)]
    if asked.namespace:
        bindings += [stored.document for stored in store.objects(BINDINGS, asked.namespace)]
    for document in bindings:
        if not any(is_subject(user, subject) for subject in document["subjects"]):
            continue
        reference = document["roleRef"]
        if reference["kind"] == "Role":
            found = store.get(ROLES, document["metadata"].get("namespace", ""), reference["name"])
        else:
            found = store.get(CLUSTER_ROLES, "", reference["name"])
        if found is not None and any(rule_allows(rule, asked) for rule in found.document["rules"]):
            return True
    return False


def is_subject(user: User, subject: Document) -> bool:
    if subject["kind"] == "ServiceAccount":
        return user.name == f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return subject["name"] in (user.groups if subject["kind"] == "Group" else (user.name,))


def rule_allows(rule: Document, asked: Attributes) -> bool:
    if not {"*", asked.verb} & set(rule["verbs"]):
        return False
    if asked.path is not None:
        return any(
            url == asked.path or (url.endswith("*") and asked.path.startswith(url[:-1]))
            for url in rule["nonResourceURLs"]
        )
    whole = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    wanted = {"*", whole} | ({f"*/{asked.subresource}"} if asked.subresource else set())
    return bool(
        {"*", asked.group} & set(rule["apiGroups"])
        and wanted & set(rule["resources"])
        and (not rule["resourceNames"] or asked.name in rule["resourceNames"])
    )


def change(world: World, kind: str, namespace: str, name: str, content: object) -> None:
    if kind == "role":
        assert isinstance(content, list)
        world.put(ROLES if namespace else CLUSTER_ROLES, role(name, *content, namespace=namespace))
    elif kind == "bind":
        assert isinstance(content, tuple)
        role_kind, bound, subjects = content
        document = binding(name, role_kind, bound, *subjects, namespace=namespace)
        world.put(BINDINGS if namespace else CLUSTER_BINDINGS, document)
    else:
        resources = (ROLES, BINDINGS) if namespace else (CLUSTER_ROLES, CLUSTER_BINDINGS)
        for resource in resources:
            stored = world.store.get(resource, namespace, name)
            if stored is not None:
                world.store.delete(resource, stored)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(changes, questions), min_size=1, max_size=8))
def test_like_a_walk_over_everything(
    steps: list[tuple[tuple[str, str, str, object], list[Attributes]]],
) -> None:
    world = World(bootstrap=False)
    for step, asked in steps:
        change(world, *step)
        for attributes in asked:
            for user in USERS:
                decision = world.authorizer.decide(user, attributes)
                assert decision.allowed is naively_allowed(world, user, attributes)
                assert not decision.allowed or decision.reason.startswith("RBAC: allowed by ")
