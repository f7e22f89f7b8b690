"""Makes the pictures of the page that the README and the documents show, from a cluster of its own.

python -m tools.make_screenshots
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from tests.controlplane.servers import wait_for
from tests.page.browsing import Browser, browser, missing
from tests.page.views import View, show, views
from tests.page.world import World, fill, up

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"
LARGEST = 120_000
"""Bytes of a picture."""

_NODES = 600
_COLOURS = 256
_TRIES = 3


class Picture(NamedTuple):
    view: str
    colours: str = "light"
    height: int = 800


WANTED = (
    Picture("map", "dark"),
    Picture("queue"),
    Picture("decisions"),
    Picture("decision", height=1160),
    Picture("pod", "dark"),
    Picture("plugins"),
    Picture("try", height=880),
    Picture("compare", "dark"),
)


def main() -> int:
    if lacking := missing():
        sys.stderr.write(f"no browser: {lacking}\n")
        return 1
    with up(f"--nodes={_NODES}") as world, browser() as page:
        _busy(world)
        page.open(world.signed_in)
        page.wait_for_text("Live", "#connection")
        known = {view.name: view for view in views(world)}
        for wanted in WANTED:
            _make(page, known[wanted.view], wanted)
    return 0


def _busy(world: World) -> None:
    fill(world, deployments=24, replicas=60)
    for number, node in enumerate(world.get("nodes")["names"][:_TRIES], 2):
        world.patch_node(node, {"spec": {"taints": None}})  # has those that wait tried again: a story to tell
        wait_for("another try", lambda number=number: _tries(world) >= number)  # type: ignore[misc]
    world.wait_until_quiet()


def _tries(world: World) -> int:
    return max(int(each["tries"]) for each in world.get("queue", search="large")["pods"])


def _make(page: Browser, view: View, wanted: Picture) -> None:
    page.size(1280, wanted.height)
    page.colours(wanted.colours)
    show(page, view)
    file = PICTURES / f"page-{view.name}.png"
    page.picture(file)
    _make_small(file)
    sys.stdout.write(f"{file.name}: {file.stat().st_size} bytes\n")


def _make_small(file: Path) -> None:
    """Fewer colours: the page has few, and nobody sees the difference."""
    with Image.open(io.BytesIO(file.read_bytes())) as picture:
        picture.convert("RGB").quantize(_COLOURS).save(file, optimize=True)
    size = file.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{file} has {size} bytes, more than {LARGEST}")


if __name__ == "__main__":
    sys.exit(main())
