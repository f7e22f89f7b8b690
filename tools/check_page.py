"""Checks the page: types with TypeScript's compiler, and the form of its files.

    python -m tools.check_page
    python -m tools.check_page --write    puts the files into their form

What it needs comes from npm, in the exact versions of `tools/page/package.json`, into a folder below `build`.
Where there is no npm a line says so; that is an error where checks are required (CI).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "src" / "moorage" / "server" / "page"

_SETTINGS = ROOT / "tools" / "page"
_INSTALLED = ROOT / "build" / "page"


class Missing(Exception):
    """What checks the page is not on this machine; one line with the remedy."""


def is_required() -> bool:
    """Whether a check that cannot be made is an error."""
    return bool(os.environ.get("CI") or os.environ.get("CONTROL_PLANE_REQUIRED"))


def packages() -> Path:
    """The folder with the packages, which the first use installs; raises Missing."""
    wanted, there = _SETTINGS / "package.json", _INSTALLED / "package.json"
    found = _INSTALLED / "node_modules"
    if there.exists() and there.read_bytes() == wanted.read_bytes():
        return found
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("npm is missing; install it (on Debian: apt-get install npm)")
    _INSTALLED.mkdir(parents=True, exist_ok=True)
    there.unlink(missing_ok=True)
    flags = ["--no-package-lock", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]
    names = _exact_names(wanted)
    done = subprocess.run(
        [npm, "install", f"--prefix={_INSTALLED}", *flags, *names],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    if done.returncode:
        why = " ".join(done.stderr.split())[-300:]
        raise Missing(f"npm cannot install {', '.join(names)}: {why}")
    shutil.copyfile(wanted, there)
    return found


def _exact_names(package: Path) -> list[str]:
    wanted: dict[str, str] = json.loads(package.read_text())["devDependencies"]
    return [f"{name}@{version}" for name, version in wanted.items()]


def check(write: bool = False) -> int:
    """The exit code."""
    try:
        folder = packages()
    except Missing as reason:
        sys.stderr.write(f"the page is not checked: {reason}\n")
        return 1 if is_required() else 0
    form = [f"--config={_SETTINGS / '.prettierrc.json'}", "--log-level=warn", str(PAGE)]
    commands = [("prettier", "--write" if write else "--check", *form)]
    if not write:
        commands.append(("tsc", "--project", str(_SETTINGS)))
    programs = folder / ".bin"
    return max(subprocess.run([programs / name, *flags], check=False).returncode for name, *flags in commands)


if __name__ == "__main__":
    sys.exit(check(write="--write" in sys.argv[1:]))
