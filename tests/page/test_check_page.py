"""What checks the page says where it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page import browsing
from tools import check_page

_MARKUP_FROM_TEXT = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(")


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with neither npm nor browser, where nothing is required."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(check_page, "_INSTALLED", tmp_path / "page")
    for name in ("CI", "CONTROL_PLANE_REQUIRED"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("bare")
def test_without_npm_a_line_says_what_to_install(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_page.check() == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == ("the page is not checked: npm is missing; install it (on Debian: apt-get install npm)")


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", ["CI", "CONTROL_PLANE_REQUIRED"])
def test_without_npm_a_required_check_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "1")
    assert check_page.check() == 1


@pytest.mark.usefixtures("bare")
def test_without_a_browser_a_line_says_what_to_install() -> None:
    assert browsing.missing() == (
        "chromium and chromedriver not found; on Debian: apt-get install chromium chromium-driver"
    )


def test_no_file_of_the_page_is_large_and_none_has_code_or_style_inline() -> None:
    files = [file for file in check_page.PAGE.rglob("*") if file.suffix in (".js", ".css", ".html")]
    assert len(files) > 30
    assert {file.name: lines for file in files if (lines := len(file.read_text().splitlines())) > 600} == {}
    page = (check_page.PAGE / "index.html").read_text()
    assert "style=" not in page
    assert page.count("<script") == page.count('<script type="module" src="main.js"></script>') == 1
    for file in files:
        text = file.read_text()
        assert [word for word in _MARKUP_FROM_TEXT if word in text] == [], file
        addresses = text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in addresses and "https://" not in addresses, file
