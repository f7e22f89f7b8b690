"""Which node has which container image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moorage.api.nodes import ContainerImage, Node

if TYPE_CHECKING:
    from moorage.state.node_info import NodeInfo


class ImageState:
    """An image name: its size as first reported, and the nodes that have it."""

    __slots__ = ("nodes", "reported", "size")

    def __init__(self, reported: ContainerImage) -> None:
        """Made by the scheduler, not for plugins."""
        self.reported = reported
        """As the first node reported it; for the scheduler, not for plugins."""
        self.size: int = reported.size_bytes
        """In bytes."""
        self.nodes: set[NodeInfo] = set()
        """The nodes that have the image."""


class Images:
    def __init__(self) -> None:
        self.version = 0
        self._states: dict[str, ImageState] = {}

    def find(self, name: str) -> ImageState | None:
        return self._states.get(name)

    def __len__(self) -> int:
        return len(self._states)

    def put(self, info: NodeInfo, node: Node) -> Mapping[str, ImageState]:
        """Records the images of a node instead of those it had before, and returns them.

        What other nodes reported in the same words is kept once: `node` then has theirs.
        """
        self.withdraw(info)
        held: dict[str, ImageState] = {}
        shared: list[ContainerImage] = []
        for image in node.status.images:
            known = self._states.get(image.names[0]) if image.names else None
            if known is not None and known.reported == image:
                image = known.reported
            for name in image.names:
                state = self._states.get(name)
                if state is None:
                    state = self._states[name] = ImageState(image)
                state.nodes.add(info)
                held[name] = state
            shared.append(image)
        node.status.images = tuple(shared)
        self.version += 1
        return held

    def is_outdated(self, node: Node) -> bool:
        """Whether an image that only this node has is known with the size that another one reported."""
        states = self._states
        return any(
            (state := states.get(name)) is not None
            and state.size != image.size_bytes
            and len(state.nodes) == 1
            for image in node.status.images
            for name in image.names
        )

    def withdraw(self, info: NodeInfo) -> None:
        for name, state in info.images.items():
            state.nodes.discard(info)
            if not state.nodes:
                self._states.pop(name, None)
        self.version += 1
