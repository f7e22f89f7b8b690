"""The walks of the examples' READMEs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks_of, documents
from tests.docs.walking import Walk
from tests.embedded.clusters import Embedded

WALKS = [each for each in documents() if "examples" in each.relative_to(ROOT).parts]


@pytest.fixture(scope="module")
def judge() -> Iterator[Embedded]:
    with Embedded("--no-scheduler", "--nodes=0") as cluster:
        yield cluster


@pytest.mark.parametrize("document", WALKS, ids=lambda document: document.parent.name)
def test_example_does_what_it_says(document: Path, judge: Embedded, tmp_path: Path) -> None:
    Walk(tmp_path, judge).walk(blocks_of(document))
