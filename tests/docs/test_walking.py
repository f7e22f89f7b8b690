"""The walk through documents notices what is wrong with them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from moorage.config import ConfigError
from tests.docs.blocks import ROOT, Unclosed, blocks_of
from tests.docs.comparing import difference
from tests.docs.walking import Walk
from tests.embedded.clusters import Embedded


@pytest.fixture(scope="module")
def judge() -> Iterator[Embedded]:
    with Embedded("--no-scheduler", "--nodes=0") as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("web-76f7849545-46t45  1/1  5s\n", "web-5d9c8bf7b4-xk2vz   1/1   1m3s\n"),
        ("first\n...\nlast\n", "first\nlast\n"),
        ("first\n...\nlast\n", "first\nsecond\nthird\nlast\n"),
        ("ready after 0.3 s: https://127.0.0.1:1\n", "ready after 12.0 s: https://127.0.0.1:65000\n"),
        ("export KUBECONFIG=…/config\n", "export KUBECONFIG=/home/me/config\n"),
    ],
)
def test_what_may_differ(expected: str, printed: str) -> None:
    assert difference(expected, printed) == ""


@pytest.mark.parametrize(
    ("expected", "printed"),
    [
        ("node-1\n", "node-2\n"),
        ("node-1\n", "node-1\nnode-2\n"),
        ("first\n...\nlast\n", "first\n"),
        ("", "anything\n"),
        ("6 node-1\n", "5 node-1\n"),
    ],
)
def test_what_may_not_differ(expected: str, printed: str) -> None:
    assert difference(expected, printed)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("```sh\nfalse\n```\n", "exit code 1"),
        ("```sh\nfalse | true\n```\n", "exit code 1"),
        ("```sh\necho one\n```\n\n```text\ntwo\n```\n", "expected:\ntwo"),
        ("```sh\nmoorage up --nodes none\n```\n", "ended with exit code 1"),
        ("```yaml\nkind: KubeSchedulerConfiguration\napiVersion: x/v1\n```\n", "x/v1"),
        ("```yaml\nkind: Pod\napiVersion: v1\nmetadata: {name: p}\n```\n", "spec.containers: Required value"),
        ("```yaml\njust a text\n```\n", "holds no mapping"),
        ("```python\nassert False, 'wrong'\n```\n", "wrong"),
    ],
)
def test_mistakes_are_found(text: str, problem: str, judge: Embedded, tmp_path: Path) -> None:
    blocks = [block._replace(document=ROOT / "README.md") for block in blocks_of(written(tmp_path, text))]
    with pytest.raises((AssertionError, ConfigError), match=problem):
        Walk(tmp_path, judge).walk(blocks)


def test_a_block_without_an_end(tmp_path: Path) -> None:
    with pytest.raises(Unclosed):
        blocks_of(written(tmp_path, "```sh\ntrue\n"))


def test_marks_and_file_names(tmp_path: Path) -> None:
    text = (
        "<!-- not run: a reason -->\n```sh\nreboot\n```\n\n```python\n# here/plugin.py\npass\n```\n\n"
        "<!-- not run: far away -->\nText.\n\n```sh\ntrue\n```\n"
    )
    marked, named, far = blocks_of(written(tmp_path, text))
    assert (marked.not_run, marked.first_line) == ("a reason", "reboot")
    assert named.file_name == "here/plugin.py"
    assert far.not_run == ""


def written(folder: Path, text: str) -> Path:
    document = folder / "document.md"
    document.write_text(text)
    return document
