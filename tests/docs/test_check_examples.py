"""`make lint` notices examples that use what is not public."""

from pathlib import Path

import pytest

from tools import check_examples
from tools.check_examples import problems, problems_in, problems_in_document, problems_in_example


def test_examples_and_documents_use_public_names_only() -> None:
    assert list(problems()) == []


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("from moorage.framework.status import Status", "moorage.framework.status is private"),
        ("import moorage.api.pods", "moorage.api.pods is private"),
        ("from moorage.testing.builders import make_pod", "moorage.testing.builders is private"),
        ("from moorage import framework", "framework is not a public name of moorage"),
        ("from moorage.testing import _make", "_make is not a public name of moorage.testing"),
        ("handle.services.door", "handle.services is private"),
        ("self.handle.state.table", "handle.state is private"),
        ("pod._source", "pod._source is private"),
        ("self.handle._profile", "_profile is private"),
        ("make()._inner", "_inner is private"),
    ],
)
def test_what_is_private_is_found(source: str, said: str) -> None:
    [(line, text)] = problems_in(f"\n{source}")
    assert (line, text.partition(";")[0]) == (2, said)


@pytest.mark.parametrize(
    "source",
    [
        "from moorage import Pod, Status, testing",
        "import moorage",
        "from moorage.testing import Cluster, run",
        "from .api import License",
        "self._count = cls._most = super()._x",
        "self.handle.nodes; handle.recorder; other.state; value.__class__",
    ],
)
def test_what_is_public_is_left_alone(source: str) -> None:
    assert list(problems_in(source)) == []


def test_packages_that_a_readme_does_not_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_examples, "ROOT", tmp_path)
    (tmp_path / "plugin.py").write_text("import json\nimport numpy, aiohttp\nfrom helper import x\n")
    (tmp_path / "helper.py").write_text("import requests\n")
    readme = tmp_path / "README.md"
    readme.write_text("Asks a server with Requests.\n")
    assert list(problems_in_example(tmp_path)) == [
        "plugin.py:2: aiohttp is none of what every example may use; its README has to name it"
    ]
    readme.write_text("Text\n\n```python\nimport any\nimport moorage.state\n```\n")
    assert list(problems_in_document(readme)) == [
        "README.md:5: moorage.state is private; import from moorage or moorage.testing"
    ]
