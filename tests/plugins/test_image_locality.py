from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.api.nodes import ContainerImage
from moorage.api.pods import Pod
from moorage.plugins.image_locality import ImageLocality, with_tag
from moorage.testing import make_node, make_pod
from tests.plugins.helpers import MEBIBYTE, cluster, scored, views

Document = dict[str, Any]


def containers(*images: str) -> list[Document]:
    return [{"name": f"c{i}", "image": image} for i, image in enumerate(images)]


def pod_with(*images: str, init: tuple[str, ...] = (), volumes: tuple[str, ...] = ()) -> Pod:
    return make_pod(
        containers=containers(*images),
        initContainers=containers(*init),
        volumes=[{"name": f"v{i}", "image": {"reference": image}} for i, image in enumerate(volumes)],
    )


def spread(size: int, holders: int, total: int) -> ImageLocality:
    """`total` nodes, of which the first `holders` have an image of `size` MiB."""
    nodes = [
        make_node(f"n{i}", images={"app:1": size * MEBIBYTE} if i < holders else {}) for i in range(total)
    ]
    return ImageLocality(None, cluster(nodes))


@pytest.mark.parametrize(
    ("size", "holders", "total", "pod", "expected"),
    [
        (500, 2, 4, pod_with("app:1"), 23),
        (500, 3, 10, pod_with("app:1"), 12),
        (1000, 1, 1, pod_with("app:1"), 100),
        (1000, 3, 3, pod_with("app:1", "other:1"), 49),
        (400, 9, 11, pod_with("app:1"), 31),
        (5000, 2, 2, pod_with("app:1"), 100),
        (23, 1, 1, pod_with("app:1"), 0),
        (10, 1, 1, pod_with("app:1"), 0),
    ],
)
def test_check_values(size: int, holders: int, total: int, pod: Pod, expected: int) -> None:
    scores = scored(spread(size, holders, total), pod)
    assert scores["n0"] == expected
    assert all(scores[f"n{i}"] == 0 for i in range(holders, total))


def test_the_share_is_divided_before_it_is_multiplied_and_truncated_per_image() -> None:
    """9/11 of 419430400 is 343170327.27; three times that, truncated each time, is not the truncated sum."""
    plugin = spread(400, 9, 11)
    each = int(float(400 * MEBIBYTE) * (9.0 / 11.0))
    assert each == 343170327
    total = 3 * each
    largest = 3 * 1000 * MEBIBYTE
    expected = 100 * (total - 23 * MEBIBYTE) // (largest - 23 * MEBIBYTE)
    assert scored(plugin, pod_with("app:1", "app:1", "app:1"))["n0"] == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("library/nginx", "library/nginx:latest"),
        ("host:5000/nginx", "host:5000/nginx:latest"),
        ("host:5000/nginx:1", "host:5000/nginx:1"),
        ("nginx@sha256:abc", "nginx@sha256:abc"),
        ("host:5000/a/nginx@sha256:abc", "host:5000/a/nginx@sha256:abc"),
        ("", ":latest"),
    ],
)
def test_with_tag(image: str, expected: str) -> None:
    assert with_tag(image) == expected


def test_init_containers_and_volumes_count_but_volumes_do_not_raise_the_limit() -> None:
    plugin = spread(500, 1, 1)
    assert scored(plugin, pod_with("x", init=("app:1",)))["n0"] == 100 * 477 // 1977
    assert scored(plugin, pod_with("app:1", volumes=("app:1",)))["n0"] == 100
    assert scored(plugin, pod_with("x", volumes=("app:1",)))["n0"] == 100 * 477 // 977


def test_an_image_has_several_names() -> None:
    node = make_node("n")
    node.status.images = (ContainerImage(("app@sha256:1", "app:latest"), 1000 * MEBIBYTE),)
    plugin = ImageLocality(None, cluster([node]))
    assert scored(plugin, pod_with("app@sha256:1")) == {"n": 100}
    assert scored(plugin, pod_with("app")) == {"n": 100}
    assert scored(plugin, pod_with("app:1")) == {"n": 0}


def test_the_size_of_the_first_reporter_is_kept() -> None:
    nodes = [make_node("a", images={"app:1": 1000 * MEBIBYTE}), make_node("b", images={"app:1": 1})]
    plugin = ImageLocality(None, cluster(nodes))
    assert scored(plugin, pod_with("app:1")) == {"a": 100, "b": 100}


def test_images_that_no_node_has() -> None:
    assert scored(spread(500, 0, 3), pod_with("app:1")) == {"n0": 0, "n1": 0, "n2": 0}


def test_there_are_no_events() -> None:
    assert spread(1, 1, 1).events() is None


# The same rules, written once more node by node

images = st.sampled_from(["a:latest", "b:1", "c:2"])
wanted_images = st.sampled_from(["a", "a:latest", "b:1", "c:2", "d:1"])
node_images = st.sets(images)
sizes = st.fixed_dictionaries({name: st.integers(0, 3000 * MEBIBYTE) for name in ("a:latest", "b:1", "c:2")})


def reference(stage: list[set[str]], sizes: dict[str, int], here: set[str], pod: Pod) -> int:
    spec = pod.spec
    in_containers = [container.image for container in (*spec.init_containers, *spec.containers)]
    in_volumes = [volume.image.reference for volume in spec.volumes if volume.image]
    total = 0
    for image in in_containers + in_volumes:
        name = "a:latest" if image == "a" else image
        if name in here:
            holders = sum(name in others for others in stage)
            total += int(float(sizes[name]) * (float(holders) / float(len(stage))))
    smallest, largest = 23 * MEBIBYTE, 1000 * MEBIBYTE * len(in_containers)
    total = smallest if total < smallest else min(total, largest)
    return 100 * (total - smallest) // (largest - smallest)


@settings(max_examples=80)
@given(
    stages=st.lists(st.lists(node_images, min_size=1, max_size=6), min_size=1, max_size=3),
    sizes=sizes,
    init=st.lists(wanted_images, max_size=2).map(tuple),
    main=st.lists(wanted_images, min_size=1, max_size=3),
    volumes=st.lists(wanted_images, max_size=2).map(tuple),
)
def test_fast_form_is_the_rule_node_by_node(
    stages: list[list[set[str]]],
    sizes: dict[str, int],
    init: tuple[str, ...],
    main: list[str],
    volumes: tuple[str, ...],
) -> None:
    """One plugin sees the nodes change, appear and go: nothing that is kept may be stale."""
    plugin = ImageLocality(None, cluster())
    state = plugin.handle.state
    pod = pod_with(*main, init=init, volumes=volumes)
    for stage in stages:
        for i, held in enumerate(stage):
            state.put_node(make_node(f"n{i}", images={name: sizes[name] for name in sorted(held)}))
        for name in [info.name for info in state.table if int(info.name[1:]) >= len(stage)]:
            state.remove_node(name)
        state.table.refresh()
        for view in views(plugin.handle):
            for name, score in scored(plugin, pod, view).items():
                assert score == reference(stage, sizes, stage[int(name[1:])], pod)
