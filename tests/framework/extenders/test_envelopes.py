"""What is sent to extenders, and what their answers mean."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.decoding import decode
from moorage.api.nodes import Node
from moorage.api.pods import Pod
from moorage.framework.extenders.envelopes import (
    ExtenderError,
    FilterAnswer,
    MetaVictims,
    Victims,
    bind_request,
    embedded,
    nodes_request,
    preempt_request,
    read_error,
    read_filter,
    read_scores,
    read_victims,
)
from moorage.state.cluster import ClusterState
from moorage.state.nodes import Nodes
from moorage.testing import make_node, make_pod


def nodes(*names: str) -> Nodes:
    state = ClusterState()
    for name in names:
        state.put_node(make_node(name))
    state.table.refresh()
    return state.nodes


def document(item: Any) -> Any:
    return json.loads(bytes(embedded(item)))


def test_nodes_go_out_as_objects_or_by_name() -> None:
    pod, both = make_pod("p"), nodes("a", "b")
    assert json.loads(nodes_request(pod, both, by_name=False)) == {
        "Pod": pod.raw,
        "Nodes": {"metadata": {}, "items": [info.node.raw for info in both]},
        "NodeNames": None,
    }
    assert json.loads(nodes_request(pod, both, by_name=True)) == {
        "Pod": pod.raw,
        "Nodes": None,
        "NodeNames": ["a", "b"],
    }


def test_victims_go_out_as_objects_or_by_uid() -> None:
    pod, victim = make_pod("p"), make_pod("v", uid="1", node="a")
    victims = {"a": Victims((victim,), 2)}
    assert json.loads(preempt_request(pod, victims, by_uid=False)) == {
        "Pod": pod.raw,
        "NodeNameToVictims": {"a": {"Pods": [victim.raw], "NumPDBViolations": 2}},
        "NodeNameToMetaVictims": None,
    }
    assert json.loads(preempt_request(pod, victims, by_uid=True)) == {
        "Pod": pod.raw,
        "NodeNameToVictims": None,
        "NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "1"}], "NumPDBViolations": 2}},
    }


def test_a_binding_goes_out() -> None:
    assert json.loads(bind_request(make_pod("p", namespace="space", uid="1"), "a")) == {
        "PodName": "p",
        "PodNamespace": "space",
        "PodUID": "1",
        "Node": "a",
    }


def test_an_object_is_sent_whole_but_for_what_kube_scheduler_does_not_send() -> None:
    fields = [{"manager": "kubectl"}]
    whole: dict[str, Any] = {
        "metadata": {"name": "x", "uid": "1", "finalizers": ["a/b"]},
        "spec": {"hostname": "unknown to schedulers"},
        "status": {"phase": "Pending"},
    }
    sent = {
        **whole,
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {**whole["metadata"], "managedFields": fields},
    }
    pod = decode(Pod, json.dumps(sent).encode())
    assert document(pod) == whole
    assert "raw" not in pod.__dict__


@pytest.mark.parametrize(
    "head", ['"kind":"Node","apiVersion":"v1",', "", '"apiVersion":"v1","kind":"Node",', " "]
)
def test_a_node_is_sent_whole_however_the_api_server_wrote_it(head: str) -> None:
    whole = {"metadata": {"name": "x", "managedFields": []}, "spec": {"a": 1}, "status": {}}
    source = "{" + head + json.dumps(whole, separators=(",", ":"))[1:]
    assert document(decode(Node, source.encode())) == whole


def test_a_pod_that_is_only_assumed_says_on_which_node() -> None:
    state = ClusterState()
    state.put_node(make_node("a"))
    source = json.dumps({"metadata": {"name": "p", "uid": "1"}, "spec": {"hostname": "h"}}).encode()
    assumed = state.assume(decode(Pod, source), "a")
    assert document(assumed)["spec"] == {"hostname": "h", "nodeName": "a"}


ANSWER = {
    "Nodes": {"Metadata": {}, "Items": [{"Metadata": {"Name": "a"}}, {"Metadata": {"Name": "b"}}]},
    "NodeNames": ["c"],
    "FailedNodes": {"Node-X": "Why"},
    "FailedAndUnresolvableNodes": {"Y": "z"},
    "Error": "Oh",
}


def respelt(value: Any, flip: Any) -> Any:
    """A document with its keys in other cases; those of maps are names, which stay."""
    if isinstance(value, list):
        return [respelt(item, flip) for item in value]
    if not isinstance(value, dict) or "Node-X" in value or "Y" in value:
        return value
    return {
        "".join(letter.swapcase() if flip() else letter for letter in key): respelt(item, flip)
        for key, item in value.items()
    }


@settings(max_examples=30)
@given(st.data())
def test_answers_are_read_in_any_case(data: st.DataObject) -> None:
    answer = respelt(ANSWER, lambda: data.draw(st.booleans()))
    assert read_filter(json.dumps(answer).encode()) == FilterAnswer(
        ["c"], ["a", "b"], {"Node-X": "Why"}, {"Y": "z"}, "Oh"
    )


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("null", FilterAnswer(None, None, {}, {}, "")),
        ("{}", FilterAnswer(None, None, {}, {}, "")),
        ('{"NodeNames": null, "Nodes": null, "Error": null}', FilterAnswer(None, None, {}, {}, "")),
        ('{"NodeNames": [], "Nodes": {}}', FilterAnswer([], [], {}, {}, "")),
        ('{"Nodes": {"items": null}, "More": 1}', FilterAnswer(None, [], {}, {}, "")),
        ('{"Nodes": {"items": [{}]}}', FilterAnswer(None, [""], {}, {}, "")),
    ],
)
def test_null_is_as_good_as_nothing(answer: str, read: FilterAnswer) -> None:
    assert read_filter(answer.encode()) == read


def test_scores_victims_and_errors_are_read() -> None:
    assert read_scores(b'[{"Host": "a", "Score": 3}, {"host": "b"}, {"score": -1}]') == [
        ("a", 3),
        ("b", 0),
        ("", -1),
    ]
    assert read_scores(b"null") == []
    victims = b'{"nodeNameToMetaVictims": {"a": {"pods": [{"uid": "1"}], "NumPDBViolations": 2}, "b": null}}'
    assert read_victims(victims) == {"a": MetaVictims(["1"], 2), "b": MetaVictims([], 0)}
    assert read_victims(b"{}") == {}
    assert (read_error(b'{"error": "no"}'), read_error(b"{}")) == ("no", "")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "EOF"),
        (b"  ", "EOF"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b"{", "the answer cannot be read: Input data was truncated"),
        (b"[]", "the answer cannot be read: Expected `object | null`, got `array`"),
        (b'{"NodeNames": [1]}', "the answer cannot be read: Expected `str`, got `int`"),
        (b'{"Error": "\xff"}', "the answer cannot be read"),
    ],
)
def test_what_cannot_be_read_is_told(answer: bytes, message: str) -> None:
    with pytest.raises(ExtenderError, match=message.replace("|", r"\|").replace("[", r"\[")):
        read_filter(answer)


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_whatever_comes_is_read_or_refused(answer: bytes) -> None:
    for read in (read_filter, read_scores, read_victims, read_error):
        try:
            read(answer)
        except ExtenderError as error:
            assert str(error)
