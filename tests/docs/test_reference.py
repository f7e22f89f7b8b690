"""docs/reference/ is what the source says, and every public name has a docstring."""

from __future__ import annotations

import re

import moorage
import moorage.testing
from moorage.api.kinds import WATCHED
from moorage.framework.events import WATCHABLE as EVENT_RESOURCES
from moorage.framework.events import Action, is_watchable
from tools.make_reference import FOLDER, pages, undocumented
from tools.public_api import entry_of


def test_the_reference_is_current() -> None:
    stored = {file.name: file.read_text() for file in FOLDER.glob("*.md")}
    assert stored == pages(), "run python -m tools.make_reference"


def test_everything_public_has_a_docstring() -> None:
    assert undocumented() == []


def test_the_index_has_every_public_name() -> None:
    texts = pages()
    index = texts["README.md"]
    told = set(re.findall(r"\[`(\w+)`\]", index))
    public = {*moorage.__all__, *moorage.testing.__all__} - {"__version__"}
    assert public - told == set()
    for _, page, anchor in re.findall(r"\[`(\w+)`\]\(([\w-]+\.md)#([\w-]+)\)", index):
        heading = re.escape(anchor.removeprefix("class-"))
        assert re.search(rf"^## (class )?`{heading}`$", texts[page], re.MULTILINE | re.IGNORECASE)


def test_the_events_page_has_every_resource_and_action() -> None:
    page = pages()["events.md"]
    table = page.partition("## Resources of events")[2]
    named = set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))
    assert named >= EVENT_RESOURCES
    assert {row.event for row in WATCHED if is_watchable(row.event)} <= named
    assert [name for name in named if not is_watchable(name)] == []
    assert {action for action in Action.__members__ if f"| `{action}` |" not in page} == set()


def test_signatures_and_members_are_read_from_the_source() -> None:
    lister = entry_of("moorage.framework.listers", "Lister", "moorage")
    texts = {member.name: member.text for member in lister.members}
    assert texts["get"] == "get(name: str, *, namespace: str | None = None) -> T | None"
    assert texts["has_synced"] == "bool" and "put" not in texts, "put is for the door"
    made = entry_of("moorage.testing.builders", "make_node").signature.splitlines()
    assert made[:4] == ["make_node(", "    name: str = 'node',", "    *,", "    cpu: Quantity = '4',"]
    fake = entry_of("moorage.testing.fakes", "FakeHandle", "moorage.testing")
    assert "lister" not in {member.name for member in fake.members}, "told with Handle"


def test_a_name_without_a_docstring_is_found() -> None:
    entry = entry_of("moorage.api.pods", "ContainerPort")
    assert entry.undocumented()[:2] == ["ContainerPort", "ContainerPort.container_port"]
