"""The table of faults names tests that exist, and every test of a fault has its row."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ABOUT_THE_TOOLS = ("test_audit.py", "test_proxy.py")


def named() -> list[str]:
    text = (ROOT / "docs" / "operating.md").read_text()
    section = text.partition("\n## What faults do\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert all(re.search(r"`test_\w+` \|$", row) for row in rows)
    return re.findall(r"`(test_\w+)`", section)


def test_the_table_of_faults_and_the_tests_are_the_same() -> None:
    files = [
        file for file in (ROOT / "tests" / "faults").glob("test_*.py") if file.name not in ABOUT_THE_TOOLS
    ]
    tests = [name for file in files for name in re.findall(r"(?m)^def (test_\w+)", file.read_text())]
    assert sorted(named()) == sorted(tests)
