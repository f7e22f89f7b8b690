from __future__ import annotations

from moorage.api.nodes import ContainerImage
from moorage.state.cluster import ClusterState
from moorage.testing import make_node


def held(state: ClusterState, name: str) -> tuple[int, set[str]] | None:
    found = state.table.images.find(name)
    return None if found is None else (found.size, {info.name for info in found.nodes})


def test_the_size_of_the_first_reporter_is_kept_until_nobody_has_the_image() -> None:
    state = ClusterState()
    state.put_node(make_node("a", images={"x": 10}))
    state.put_node(make_node("b", images={"x": 20}))
    assert held(state, "x") == (10, {"a", "b"})
    state.remove_node("a")
    assert held(state, "x") == (10, {"b"})
    state.put_node(make_node("b"))
    assert held(state, "x") is None
    state.put_node(make_node("b", images={"x": 20}))
    assert held(state, "x") == (20, {"b"})


def test_on_update_the_old_names_are_withdrawn_first() -> None:
    """A sole holder that reports another size thereby changes it."""
    state = ClusterState()
    state.put_node(make_node("a", images={"x": 10, "y": 1}))
    state.put_node(make_node("a", images={"x": 30}))
    assert (held(state, "x"), held(state, "y"), len(state.table.images)) == ((30, {"a"}), None, 1)


def test_a_sole_holder_that_reports_again_brings_its_own_size() -> None:
    state = ClusterState()
    state.put_node(make_node("a", images={"x": 10}))
    state.put_node(make_node("b", images={"x": 20}))
    state.put_node(make_node("b", images={"x": 20}))
    assert held(state, "x") == (10, {"a", "b"})
    state.remove_node("a")
    state.put_node(make_node("b", images={"x": 20}))
    assert held(state, "x") == (20, {"b"})


def test_all_names_of_an_image_count() -> None:
    state = ClusterState()
    node = make_node("a")
    node.status.images = (ContainerImage(("x", "x:1"), 5), ContainerImage())
    state.put_node(node)
    assert held(state, "x") == held(state, "x:1") == (5, {"a"})
    assert set(state.table.by_name["a"].images) == {"x", "x:1"}


def test_the_version_changes_with_images_only() -> None:
    state = ClusterState()
    state.put_node(make_node("a", images={"x": 10}))
    version = state.table.images.version
    state.put_node(make_node("a", images={"x": 10}, labels={"tier": "front"}))
    assert state.table.images.version == version
    state.put_node(make_node("a", images={"x": 11}))
    assert state.table.images.version != version


def test_what_nodes_report_in_the_same_words_is_kept_once() -> None:
    state = ClusterState()
    for name in ("a", "b"):
        state.put_node(make_node(name, images={"x": 10, "y": 20}))
    state.put_node(make_node("c", images={"x": 11}))
    first, second, other = (info.node.status.images for info in state.table.by_name.values())
    assert first[0] is second[0] and first[1] is second[1]
    assert other[0].size_bytes == 11
    state.put_node(make_node("b", images={"x": 10, "y": 20}, labels={"another": "version"}))
    assert state.table.by_name["b"].node.status.images is second
