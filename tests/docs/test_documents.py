"""Every command, output, Python and YAML block of the documentation does what it says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import COMMANDS, LANGUAGES, OUTPUT, ROOT, blocks_of, documents
from tests.docs.walking import Walk
from tests.embedded.clusters import Embedded
from tools.configuration_reference import PAGE, page
from tools.make_reference import FOLDER

NOT_RUN = Path(__file__).parent / "not_run.md"
MOST_LINES = 250
PAGES = [each for each in documents() if "examples" not in each.relative_to(ROOT).parts]

GENERATED = [PAGE, *FOLDER.glob("*.md")]

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_CODE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.fixture(scope="module")
def judge() -> Iterator[Embedded]:
    with Embedded("--no-scheduler", "--nodes=0") as cluster:
        yield cluster


@pytest.mark.parametrize("document", PAGES, ids=name_of)
def test_page_does_what_it_says(document: Path, judge: Embedded, tmp_path: Path) -> None:
    Walk(tmp_path, judge).walk(blocks_of(document))


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_no_block_escapes(document: Path) -> None:
    before = ""
    for block in blocks_of(document):
        assert block.not_run or block.language in LANGUAGES, f"{block.place}: {block.language} cannot be run"
        if block.language == OUTPUT and not block.not_run:
            assert before == COMMANDS, f"{block.place}: the output of nothing"
        before = block.language


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    for target in _LINK.findall(_CODE.sub("", document.read_text())):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), f"{name_of(document)}: {target} does not exist"
        if heading:
            assert heading in headings(linked), f"{name_of(document)}: {target} has no such heading"


def headings(document: Path) -> set[str]:
    """The anchors of a page, as they are made on the repository page."""
    text = _CODE.sub("", document.read_text())
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(text))
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("document", [each for each in PAGES if each not in GENERATED], ids=name_of)
def test_page_is_short(document: Path) -> None:
    assert len(document.read_text().splitlines()) <= MOST_LINES


def test_configuration_reference_is_current() -> None:
    assert PAGE.read_text() == page(), "run python -m tools.configuration_reference"


def test_list_of_what_is_not_run() -> None:
    rows = [
        f"| `{name_of(block.document)}` | `{block.first_line}` | {block.not_run} |"
        for document in documents()
        for block in blocks_of(document)
        if block.not_run
    ]
    listed = [line for line in NOT_RUN.read_text().splitlines() if line.startswith("| `")]
    assert listed == rows, "not_run.md must hold these rows:\n" + "\n".join(rows)
