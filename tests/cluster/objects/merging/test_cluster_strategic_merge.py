"""Strategic merge patches: results and texts as the API server gives them for the same Deployment."""

from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.merging.strategic import strategic_merge
from moorage.cluster.schema.builtin import schema_of

DEPLOYMENT = schema_of("apps", "v1", "Deployment")

LIVE: dict[str, Any] = {
    "metadata": {"name": "sp", "finalizers": ["x.io/a", "x.io/b"]},
    "spec": {
        "replicas": 1,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
        "template": {
            "spec": {
                "containers": [
                    {"name": "c1", "image": "i1", "env": [{"name": "A", "value": "1"}], "command": ["x"]},
                    {"name": "c2", "image": "i2"},
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
            }
        },
    },
}


def patched(patch: dict[str, Any]) -> dict[str, Any]:
    before = deepcopy((LIVE, patch))
    result = strategic_merge(DEPLOYMENT, LIVE, patch)
    assert (LIVE, patch) == before
    return result


def in_pod(patch: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"template": {"spec": patch}}}


def pod(patch: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = patched(in_pod(patch))["spec"]["template"]["spec"]
    return result


def env(live: str, patch: list[dict[str, Any]], order: str | None = None) -> str:
    """The names of the environment variables after a patch of those of a container."""
    container: dict[str, Any] = {"name": "c", "env": patch}
    if order is not None:
        container["$setElementOrder/env"] = [{"name": name} for name in order]
    document = in_pod({"containers": [{"name": "c", "env": [{"name": name, "value": "0"} for name in live]}]})
    result = strategic_merge(DEPLOYMENT, document, in_pod({"containers": [container]}))
    return "".join(item["name"] for item in result["spec"]["template"]["spec"]["containers"][0]["env"])


def named(names: str) -> list[dict[str, Any]]:
    return [{"name": name, "value": "1"} for name in names]


def test_items_are_merged_by_key_and_the_rest_is_shared() -> None:
    result = pod({"containers": [{"name": "c2", "image": "new"}, {"name": "c3", "image": "i3", "tty": None}]})
    assert result["containers"] == [
        LIVE["spec"]["template"]["spec"]["containers"][0],
        {"name": "c2", "image": "new"},
        {"name": "c3", "image": "i3"},
    ]
    assert result["volumes"] is LIVE["spec"]["template"]["spec"]["volumes"]


def test_nulls_delete() -> None:
    assert "replicas" not in patched({"spec": {"replicas": None}})["spec"]
    assert patched({"metadata": {"labels": {"b": "1", "c": None}}})["metadata"]["labels"] == {"b": "1"}
    assert "nothing" not in patched({"nothing": None})


def test_other_lists_are_replaced() -> None:
    assert pod({"containers": [{"name": "c1", "command": ["y", "z"]}]})["containers"][0]["command"] == [
        "y",
        "z",
    ]


def test_values_of_a_set_are_added_in_the_order_of_the_patch() -> None:
    assert patched({"metadata": {"finalizers": ["x.io/c"]}})["metadata"]["finalizers"] == [
        "x.io/c",
        "x.io/a",
        "x.io/b",
    ]
    assert patched({"metadata": {"finalizers": ["x.io/b"]}})["metadata"]["finalizers"] == ["x.io/a", "x.io/b"]


def test_values_are_deleted_from_a_set() -> None:
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.io/a", "x.io/z"]}}
    assert patched(patch)["metadata"]["finalizers"] == ["x.io/b"]
    assert patched({"metadata": {"$deleteFromPrimitiveList/nope": ["x"]}}) == LIVE
    assert patched({"metadata": {"$deleteFromPrimitiveList/finalizers": "x"}}) == LIVE


@pytest.mark.parametrize(
    ("live", "patch", "order", "expected"),
    [
        ("ABC", "CA", None, "BCA"),
        ("ABC", "X", None, "XABC"),
        ("ABC", "XB", None, "XABC"),
        ("ABC", "", "CBA", "CBA"),
        ("ABC", "X", "AXC", "AXBC"),
        ("ABC", "X", "X", "XABC"),
        ("", "XY", "XY", "XY"),
    ],
)
def test_order(live: str, patch: str, order: str | None, expected: str) -> None:
    assert env(live, named(patch), order) == expected


def test_a_new_item_has_the_place_of_a_deleted_one() -> None:
    changes = [{"name": "D", "$patch": "delete"}, *named("GABFC")]
    assert env("ADBEFC", changes, "GABFC") == "EGABFC"


def test_directives_in_lists() -> None:
    assert pod({"containers": [{"name": "c1", "$patch": "delete"}]})["containers"] == [
        {"name": "c2", "image": "i2"}
    ]
    assert pod({"containers": [{"$patch": "replace"}, {"name": "n"}]})["containers"] == [{"name": "n"}]


def test_directives_in_objects() -> None:
    strategy = patched({"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}})["spec"]["strategy"]
    assert strategy == {"type": "Recreate"}
    assert patched({"spec": {"strategy": {"$patch": "delete"}}})["spec"]["strategy"] == {}
    assert patched({"metadata": {"labels": {"$patch": "replace", "a": "b"}}}) == LIVE


def test_retained_keys() -> None:
    volume = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
    assert pod({"volumes": [volume]})["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]
    strategy = {"$retainKeys": ["type"], "type": "Recreate"}
    assert patched({"spec": {"strategy": strategy}})["spec"]["strategy"] == {"type": "Recreate"}


SHOWN = "[map[command:[x] env:[map[name:A value:1]] image:i1 name:c1] map[image:i2 name:c2]]"
"""The live containers, as messages write them."""


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ([], "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("x", "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ({"$patch": "frob"}, "unknown patch type: frob in map: map[$patch:frob]"),
        ({"$patch": 5}, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        (
            {"spec": {"$patch": "merge", "replicas": 2}},
            "unknown patch type: merge in map: map[$patch:merge replicas:2]",
        ),
        (
            in_pod({"containers": [{"image": "x"}]}),
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (in_pod({"containers": ["x"]}), f"list element types are not identical: [{SHOWN} [x]]"),
        (in_pod({"containers": [None]}), f"list element types are not identical: [{SHOWN} [<nil>]]"),
        (
            in_pod({"containers": [{"name": "c1", "$patch": "frob"}]}),
            "unknown patch type: frob in map: map[$patch:frob name:c1]",
        ),
        (
            in_pod({"containers": [{"$patch": "delete"}]}),
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            in_pod({"containers": [{"name": "c1", "$patch": "merge"}]}),
            "merging lists cannot yet be specified in the patch",
        ),
        (
            {"metadata": {"finalizers": [{"x": 1}]}},
            "list element types are not identical: [[x.io/a x.io/b] [map[x:1]]]",
        ),
        ({"metadata": {"$deleteFromPrimitiveList": ["x"]}}, "invalid patch format of primitive list"),
        ({"metadata": {"$setElementOrder": ["x"]}}, "invalid patch format of setElementOrder list"),
        (
            {"metadata": {"$setElementOrder/finalizers": "x"}},
            "expected a []interface {}, but received a string",
        ),
        (
            {"metadata": {"$setElementOrder/nope": ["x"]}},
            'unable to find api field in struct ObjectMeta for the json field "nope"',
        ),
        (
            {"metadata": {"$setElementOrder/labels": ["x"]}},
            "expected slice or array type, but got: struct",
        ),
        (
            {"metadata": {"$setElementOrder/finalizers": ["x.io/b"], "finalizers": ["x.io/q"]}},
            "The order in patch list:\n[x.io/q]\n doesn't match $setElementOrder list:\n[x.io/b]\n",
        ),
        (in_pod({"$setElementOrder/containers": ["c2"]}), "value for key 0 is not a map"),
        (
            in_pod({"$setElementOrder/containers": [{"x": "c2"}]}),
            "map: map[x:c2] does not contain declared merge key: name",
        ),
        (
            in_pod({"$setElementOrder/containers": [{"name": "c2"}], "containers": "x"}),
            "expected a []interface {}, but received a string",
        ),
        (
            in_pod({"$setElementOrder/tolerations": ["zz"], "tolerations": []}),
            "no elements in any of the given slices",
        ),
        ({"spec": {"strategy": {"$retainKeys": "x"}}}, "invalid patch format of retainKeys"),
        (
            {"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": {}}}},
            "invalid patch format of retainKeys",
        ),
    ],
)
def test_refusals(patch: Any, text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        strategic_merge(DEPLOYMENT, LIVE, patch)
    assert (refusal.value.code, refusal.value.message) == (400, text)


def test_an_absent_patch_changes_nothing() -> None:
    nothing: Any = None
    assert strategic_merge(DEPLOYMENT, LIVE, nothing) == LIVE


def test_long_lists_take_no_long_time() -> None:
    values = [f"x.io/{number}" for number in range(20_000)]
    patch = {"metadata": {"finalizers": values, "$setElementOrder/finalizers": values}}
    assert patched(patch)["metadata"]["finalizers"] == [*values, "x.io/a", "x.io/b"]


NAMES = [
    *(
        "metadata",
        "spec",
        "template",
        "containers",
        "env",
        "name",
        "finalizers",
        "labels",
        "strategy",
        "volumes",
    ),
    *("$patch", "$retainKeys", "$setElementOrder/containers", "$setElementOrder/finalizers"),
    *("$setElementOrder/x", "$deleteFromPrimitiveList/finalizers", "$deleteFromPrimitiveList"),
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(0, 2)
    | st.sampled_from(["replace", "delete", "merge", "c1", "x.io/a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=15,
)


@given(VALUES, VALUES)
def test_nothing_but_refusals_and_inputs_stay(generated: Any, patch: Any) -> None:
    document = {**deepcopy(LIVE), **(generated if isinstance(generated, dict) else {})}
    before = deepcopy((document, patch))
    with suppress(Refusal):
        assert isinstance(strategic_merge(DEPLOYMENT, document, patch), dict)
    for shape in ({"metadata": patch}, in_pod({"containers": patch}), in_pod({"containers": [patch]})):
        with suppress(Refusal):
            assert isinstance(strategic_merge(DEPLOYMENT, document, shape), dict)
    assert (document, patch) == before
