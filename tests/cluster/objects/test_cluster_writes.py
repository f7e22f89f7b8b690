"""What an API server does with writes, whatever their kind."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.store import Document
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, World, config_map, pod

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


@pytest.fixture
def world() -> World:
    return World().prepared()


def bound(world: World, name: str, **spec: Any) -> Document:
    world.create(PODS, pod(name, **spec))
    world.create(f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": {"name": "n"}})
    return world.get(f"{PODS}/{name}")


# Creating


def test_a_new_object_gets_its_identity(world: World) -> None:
    sent = config_map("a", x="y")
    sent["metadata"] |= {"uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 7}
    metadata = world.create(CONFIG_MAPS, sent)["metadata"]
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["uid"] not in ("", "mine")
    assert metadata["namespace"] == "default"
    assert metadata["resourceVersion"] == str(world.store.revision)
    assert "generation" not in metadata, "objects without a spec have none"


def test_names_are_generated_behind_a_prefix_that_is_cut(world: World) -> None:
    names = {world.create(PODS, pod())["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(len(name) == len("p-") + 5 and name.startswith("p-") for name in names)
    long = {"metadata": {"generateName": "a" * 100}}
    assert len(world.create(CONFIG_MAPS, long)["metadata"]["name"]) == 63


@pytest.mark.parametrize(
    ("document", "path", "code", "text"),
    [
        (config_map("a"), CONFIG_MAPS, 409, 'configmaps "a" already exists'),
        ({"metadata": {}}, CONFIG_MAPS, 422, "name or generateName is required"),
        (config_map("A"), CONFIG_MAPS, 422, "a lowercase RFC 1123 subdomain must consist of"),
        (config_map("b"), "/api/v1/configmaps", 405, "does not allow this method on the requested resource"),
        (config_map("b"), "/api/v1/namespaces/none/configmaps", 404, 'namespaces "none" not found'),
        (
            {"metadata": {"name": "b", "namespace": "other"}},
            CONFIG_MAPS,
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            {"metadata": {"name": "b", "resourceVersion": "5"}},
            CONFIG_MAPS,
            400,
            "resourceVersion should not be set on objects to be created",
        ),
        ({"kind": "Pod", "metadata": {"name": "b"}}, CONFIG_MAPS, 400, "Pod in version"),
        ({"apiVersion": "v2", "metadata": {"name": "b"}}, CONFIG_MAPS, 400, 'in version "v2"'),
        (["a"], CONFIG_MAPS, 400, "cannot unmarshal array"),
    ],
)
def test_what_cannot_be_created(world: World, document: Any, path: str, code: int, text: str) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    reply = world.ask("POST", path, document)
    assert reply.code == code, reply.document
    assert text in reply.message


def test_unknown_fields_are_dropped_warned_of_or_refused(world: World) -> None:
    sent = {**config_map("a"), "colour": "red"}
    assert world.ask("POST", CONFIG_MAPS, sent, fieldValidation="Strict").code == 400
    reply = world.ask("POST", CONFIG_MAPS, sent)
    assert reply.headers["Warning"] == '299 - "unknown field \\"colour\\""'
    assert "colour" not in reply.document
    assert "Warning" not in world.ask("PUT", f"{CONFIG_MAPS}/a", sent, fieldValidation="Ignore").headers
    twice = b'{"metadata":{"name":"b"},"data":{"a":"1"},"data":{"a":"2"}}'
    refused = world.ask("POST", CONFIG_MAPS, twice, fieldValidation="Strict")
    assert 'duplicate field "data"' in refused.message


def test_a_dry_run_changes_nothing(world: World) -> None:
    kept = world.create(CONFIG_MAPS, config_map("kept"))
    revision = world.store.revision
    dry = {"dryRun": "All"}
    assert world.done("POST", CONFIG_MAPS, config_map("a"), **dry)["metadata"]["uid"]
    changed = world.done("PUT", f"{CONFIG_MAPS}/kept", config_map("kept", a="b"), **dry)
    assert changed["data"] == {"a": "b"}
    patch = {"data": {"x": "y"}}
    assert (
        world.done("PATCH", f"{CONFIG_MAPS}/kept", patch, content_type=MERGE_PATCH, **dry)["data"]
        == patch["data"]
    )
    world.done("DELETE", f"{CONFIG_MAPS}/kept", **dry)
    world.done("DELETE", f"{CONFIG_MAPS}/kept", {"kind": "DeleteOptions", "dryRun": ["All"]})
    world.done("DELETE", CONFIG_MAPS, **dry)
    assert world.ask("POST", CONFIG_MAPS, config_map("kept"), dryRun="All").code == 409
    assert world.store.revision == revision
    assert world.get(f"{CONFIG_MAPS}/kept") == kept
    assert world.ask("POST", CONFIG_MAPS, config_map("a"), dryRun="Some").code == 422


def test_a_dry_deletion_shows_what_would_wait(world: World) -> None:
    kept = world.create(CONFIG_MAPS, config_map("kept"))
    shown = world.done("DELETE", f"{CONFIG_MAPS}/kept", dryRun="All", propagationPolicy="Orphan")
    assert shown["metadata"]["finalizers"] == ["orphan"]
    assert shown["metadata"]["deletionTimestamp"]
    assert world.get(f"{CONFIG_MAPS}/kept") == kept


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"dryRun": "Some"}, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"dryRun": ""}, 'dryRun: Unsupported value: [""]: supported values: "All"'),
        ({"fieldManager": "é" * 65}, "fieldManager: Too long: may not be more than 128 bytes"),
        (
            {"fieldManager": "a\0b"},
            'fieldManager: Invalid value: "a\\x00b": invalid character U+0000 (at position 1)',
        ),
        (
            {"fieldManager": "a\0", "dryRun": "x"},
            '[fieldManager: Invalid value: "a\\x00": invalid character U+0000 (at position 1),'
            ' dryRun: Unsupported value: ["x"]: supported values: "All"]',
        ),
    ],
)
def test_options_of_a_write_that_cannot_be_used(world: World, params: dict[str, Any], why: str) -> None:
    reply = world.ask("POST", CONFIG_MAPS, config_map("a"), **params)
    assert (reply.code, reply.message) == (422, f'CreateOptions.meta.k8s.io "" is invalid: {why}')
    assert world.ask("GET", f"{CONFIG_MAPS}/a").code == 404


def test_a_program_without_a_name_is_unknown(world: World) -> None:
    reply = world.ask("POST", CONFIG_MAPS, config_map("a", x="y"), headers={"user-agent": ""})
    assert [each["manager"] for each in reply.document["metadata"]["managedFields"]] == ["unknown"]


@pytest.mark.parametrize(
    ("options", "code", "why"),
    [
        ({"dryRun": ["Some"]}, 422, 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        ({"dryRun": "All"}, 400, "dryRun: must be a list"),
        ({"preconditions": []}, 400, "preconditions: must be an object"),
        ({"gracePeriodSeconds": "1"}, 400, "gracePeriodSeconds: must be a number"),
        ({"orphanDependents": 1}, 400, "orphanDependents: must be true or false"),
        (
            {"orphanDependents": True, "propagationPolicy": "Orphan"},
            422,
            'propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be'
            " both set",
        ),
    ],
)
def test_options_of_a_deletion_that_cannot_be_used(
    world: World, options: dict[str, Any], code: int, why: str
) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    reply = world.ask("DELETE", f"{CONFIG_MAPS}/a", options)
    assert (reply.code, reply.message.removeprefix('DeleteOptions.meta.k8s.io "" is invalid: ')) == (
        code,
        why,
    )
    assert world.ask("GET", f"{CONFIG_MAPS}/a").code == 200


def test_parameters_of_a_deletion_count_only_without_a_body(world: World) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    world.done("DELETE", f"{CONFIG_MAPS}/a", dryRun="All")
    world.done("DELETE", f"{CONFIG_MAPS}/a", gracePeriodSeconds="-1", dryRun="All")
    world.done("DELETE", f"{CONFIG_MAPS}/a", {}, dryRun="All")
    assert world.ask("GET", f"{CONFIG_MAPS}/a").code == 404


def test_a_write_names_its_object(world: World) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}
    why = "the name of the object ({} based on URL) was undeterminable: name must be provided"
    put = world.ask("PUT", f"{CONFIG_MAPS}/a", nameless)
    assert (put.code, put.message) == (400, why.format("a"))
    unnamed = {"metadata": {"name": None}}
    patched = world.ask("PATCH", f"{CONFIG_MAPS}/a", unnamed, content_type=MERGE_PATCH)
    assert (patched.code, patched.message) == (400, why.format("a"))
    applying: dict[str, Any] = {"content_type": APPLY_PATCH, "fieldManager": "me"}
    applied = world.ask("PATCH", f"{CONFIG_MAPS}/b", nameless, **applying)
    assert (applied.code, applied.message) == (400, why.format("b"))
    assert world.done("PATCH", f"{CONFIG_MAPS}/a", nameless, **applying)["data"] == {"x": "y"}
    elsewhere = {"metadata": {"namespace": "other"}}
    moved = world.ask("PATCH", f"{CONFIG_MAPS}/a", elsewhere, content_type=MERGE_PATCH)
    assert (moved.code, moved.message) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )


# Changing


def test_a_change_needs_the_present_version_if_it_gives_one(world: World) -> None:
    first = world.create(CONFIG_MAPS, config_map("a"))
    second = world.done("PUT", f"{CONFIG_MAPS}/a", {**first, "data": {"n": "1"}})
    reply = world.ask("PUT", f"{CONFIG_MAPS}/a", {**first, "data": {"n": "2"}})
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    assert reply.message == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified;'
        " please apply your changes to the latest version and try again"
    )
    assert world.done("PUT", f"{CONFIG_MAPS}/a", config_map("a", n="3"))["data"] == {"n": "3"}
    patch = {"metadata": {"resourceVersion": second["metadata"]["resourceVersion"]}}
    assert world.ask("PATCH", f"{CONFIG_MAPS}/a", patch, content_type=MERGE_PATCH).code == 409
    other = {**config_map("a"), "metadata": {"name": "a", "uid": "x"}}
    assert (
        "Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: "
        "Precondition failed: UID in precondition: x" in world.ask("PUT", f"{CONFIG_MAPS}/a", other).message
    )


def test_a_change_of_nothing_is_no_change(world: World) -> None:
    first = world.create(CONFIG_MAPS, config_map("a", x="y"))
    assert world.done("PUT", f"{CONFIG_MAPS}/a", first) == first
    patch = {"data": {"x": "y"}}
    assert world.done("PATCH", f"{CONFIG_MAPS}/a", patch, content_type=MERGE_PATCH) == first


def test_what_admission_brings_back_is_no_change(world: World) -> None:
    sent = world.create(PODS, pod("p"))
    for name in ("priority", "preemptionPolicy"):
        del sent["spec"][name]
    written = world.done("PUT", f"{PODS}/p", sent)
    assert written["spec"]["priority"] == 0
    assert written["metadata"]["generation"] == 1


def test_some_kinds_are_only_updated_by_who_knows_their_version(world: World) -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    lease: Document = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
    known = world.create(leases, lease)
    reply = world.ask("PUT", f"{leases}/l", lease)
    assert (reply.code, reply.message) == (
        422,
        'leases.coordination.k8s.io "l" is invalid: '
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
    )
    world.done("PUT", f"{leases}/l", known)


def test_new_events_are_told_of_under_the_name_of_the_old(world: World) -> None:
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    event: Document = {
        "metadata": {"name": "Bad_"},
        "regarding": about,
        "reason": "r",
        "action": "a",
        "type": "Normal",
        "eventTime": "2024-01-01T00:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "i",
    }
    reply = world.ask("POST", events, event)
    assert reply.code == 422
    assert reply.message.startswith('Event "Bad_" is invalid: metadata.name: Invalid value: "Bad_": a lower')


def test_the_generation_counts_changes_of_the_spec_only(world: World) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    world.create(DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec})

    def generation_after(part: str, patch: Document) -> int:
        done = world.done("PATCH", f"{DEPLOYMENTS}/d{part}", patch, content_type=MERGE_PATCH)
        generation: int = done["metadata"]["generation"]
        return generation

    assert generation_after("", {"metadata": {"labels": {"x": "y"}}}) == 1
    assert generation_after("", {"spec": {"replicas": 3}}) == 2
    assert generation_after("/status", {"status": {"replicas": 1}, "spec": {"replicas": 9}}) == 2
    after = world.get(f"{DEPLOYMENTS}/d")
    assert (after["spec"]["replicas"], after["status"]["replicas"]) == (3, 1)
    assert generation_after("", {"status": {"replicas": 5}}) == 2
    assert world.get(f"{DEPLOYMENTS}/d")["status"]["replicas"] == 1


def test_a_put_creates_only_what_may_be_created_so(world: World) -> None:
    assert world.ask("PUT", f"{CONFIG_MAPS}/new", config_map("new")).code == 404
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    made = world.ask("PUT", f"{leases}/new", {"metadata": {"name": "new"}})
    assert made.code == 201
    assert world.ask("PUT", f"{leases}/new", made.document).code == 200
    reply = world.ask("PUT", f"{CONFIG_MAPS}/new", config_map("other"))
    assert (reply.code, "does not match the name on the URL" in reply.message) == (400, True)


def test_patches_of_all_types(world: World) -> None:
    path = f"{PODS}/p"
    world.create(PODS, pod("p", labels={"a": "b"}))
    operations = [{"op": "add", "path": "/metadata/labels/c", "value": "d"}]
    assert world.done("PATCH", path, operations, content_type=JSON_PATCH)["metadata"]["labels"] == {
        "a": "b",
        "c": "d",
    }
    merge = {"metadata": {"labels": {"a": None}}}
    assert world.done("PATCH", path, merge, content_type=MERGE_PATCH)["metadata"]["labels"] == {"c": "d"}
    strategic = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
    strategic_type = "application/strategic-merge-patch+json"
    [container] = world.done("PATCH", path, strategic, content_type=strategic_type)["spec"]["containers"]
    assert (container["image"], container["terminationMessagePath"]) == ("other", "/dev/termination-log")
    applied = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"e": "f"}}}
    after = world.done("PATCH", path, applied, content_type=APPLY_PATCH, fieldManager="me")
    assert after["metadata"]["labels"] == {"c": "d", "e": "f"}
    taken = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"c": "x"}}}
    reply = world.ask("PATCH", path, taken, content_type=APPLY_PATCH, fieldManager="me")
    assert (reply.code, reply.document["reason"]) == (409, "Conflict")
    forced = world.done("PATCH", path, taken, content_type=APPLY_PATCH, fieldManager="me", force="true")
    assert forced["metadata"]["labels"] == {"c": "x"}, "what is no longer applied is gone"
    reply = world.ask("PATCH", path, b"{}", content_type="text/plain")
    assert reply.code == 415


def test_an_apply_creates_and_says_by_whom(world: World) -> None:
    path = f"{CONFIG_MAPS}/a"
    sent = config_map("a", x="y")
    reply = world.ask("PATCH", path, sent, content_type=APPLY_PATCH)
    assert (reply.code, reply.message) == (
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )
    assert world.ask("PATCH", path, sent, content_type=APPLY_PATCH, fieldManager="x").code == 201
    assert world.ask("PATCH", path, sent, content_type=APPLY_PATCH, fieldManager="y").code == 200
    managers = [each["manager"] for each in world.get(path)["metadata"]["managedFields"]]
    assert sorted(managers) == ["x", "y"]
    other = world.ask("PATCH", f"{CONFIG_MAPS}/b", sent, content_type=APPLY_PATCH, fieldManager="x")
    assert other.code == 400


# Deleting


def test_finalizers_hold_an_object(world: World) -> None:
    held = config_map("a")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    world.create(CONFIG_MAPS, held)
    going = world.done("DELETE", f"{CONFIG_MAPS}/a")
    assert going["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert world.done("DELETE", f"{CONFIG_MAPS}/a") == going, "it is already being deleted"
    more = {"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}
    assert world.ask("PATCH", f"{CONFIG_MAPS}/a", more, content_type=MERGE_PATCH).code == 422
    none: Document = {"metadata": {"finalizers": None}}
    assert world.ask("PATCH", f"{CONFIG_MAPS}/a", none, content_type=MERGE_PATCH).code == 200
    assert world.ask("GET", f"{CONFIG_MAPS}/a").code == 404


@pytest.mark.parametrize(
    ("policy", "finalizers"),
    [("Foreground", ["foregroundDeletion"]), ("Orphan", ["orphan"]), ("Background", None)],
)
def test_propagation_is_left_to_the_garbage_collector(
    world: World, policy: str, finalizers: list[str] | None
) -> None:
    world.create(CONFIG_MAPS, config_map("a"))
    answer = world.done("DELETE", f"{CONFIG_MAPS}/a", propagationPolicy=policy)
    if finalizers is None:
        assert (answer["kind"], answer["status"], answer["details"]["name"]) == ("Status", "Success", "a")
    else:
        assert answer["metadata"]["finalizers"] == finalizers


def test_a_pod_with_a_node_is_given_time(world: World) -> None:
    bound(world, "p")
    going = world.done("DELETE", f"{PODS}/p")["metadata"]
    assert (going["deletionTimestamp"], going["deletionGracePeriodSeconds"]) == ("2026-01-01T00:00:30Z", 30)
    longer = world.done("DELETE", f"{PODS}/p", gracePeriodSeconds="60")["metadata"]
    assert longer["deletionGracePeriodSeconds"] == 30, "it can only become shorter"
    shorter = world.done("DELETE", f"{PODS}/p", gracePeriodSeconds="5")["metadata"]
    assert (shorter["deletionTimestamp"], shorter["deletionGracePeriodSeconds"]) == (
        "2026-01-01T00:00:05Z",
        5,
    )
    world.done("DELETE", f"{PODS}/p", gracePeriodSeconds="0")
    assert world.ask("GET", f"{PODS}/p").code == 404


def test_a_pod_without_a_node_goes_at_once(world: World) -> None:
    world.create(PODS, pod("p"))
    assert world.done("DELETE", f"{PODS}/p")["kind"] == "Pod", "the answer shows it once more"
    assert world.ask("DELETE", f"{PODS}/p").code == 404


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        (
            {"uid": "x"},
            "the UID in the precondition (x) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated",
        ),
        (
            {"resourceVersion": "1"},
            "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record "
            "({resourceVersion}). The object might have been modified",
        ),
    ],
)
def test_preconditions(world: World, conditions: dict[str, str], why: str) -> None:
    metadata = world.create(CONFIG_MAPS, config_map("a"))["metadata"]
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": conditions}
    reply = world.ask("DELETE", f"{CONFIG_MAPS}/a", options)
    expected = f'Operation cannot be fulfilled on ConfigMap "a": {why.format(**metadata)}'
    assert (reply.code, reply.message) == (409, expected)


def test_a_collection_is_deleted_as_far_as_it_is_selected(world: World) -> None:
    for name, color in (("a", "red"), ("b", "red"), ("c", "blue")):
        world.create(CONFIG_MAPS, config_map(name, labels={"color": color}))
    deleted = world.ask("DELETE", CONFIG_MAPS, labelSelector="color=red")
    assert deleted.names == ["a", "b"]
    assert world.ask("GET", CONFIG_MAPS).names == ["c"]
    world.done("DELETE", CONFIG_MAPS, fieldSelector="metadata.name=x")
    assert world.ask("GET", CONFIG_MAPS).names == ["c"]
    assert world.ask("DELETE", "/api/v1/configmaps").code == 405, "not of all namespaces at once"


@pytest.mark.parametrize(
    ("path", "document"),
    [
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases", {"spec": {}}),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"spec": {}}),
        ("/api/v1/namespaces/default/events", {"involvedObject": {"namespace": "default"}}),
    ],
)
def test_finalizers_of_some_kinds_need_no_domain(world: World, path: str, document: Document) -> None:
    created = world.create(path, {"metadata": {"name": "a", "finalizers": ["held"]}, **document})
    assert created["metadata"]["finalizers"] == ["held"]


def test_what_is_being_deleted_is_in_the_way(world: World) -> None:
    world.create(CONFIG_MAPS, {"metadata": {"name": "a", "finalizers": ["x.y/held"]}})
    world.done("DELETE", f"{CONFIG_MAPS}/a")
    writes: tuple[dict[str, Any], ...] = ({}, {"dryRun": "All"})
    for dry_run in writes:
        reply = world.ask("POST", CONFIG_MAPS, config_map("a"), **dry_run)
        told = 'object is being deleted: configmaps "a" already exists'
        assert (reply.code, reply.message) == (409, told)
