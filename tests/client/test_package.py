"""The package itself."""

from __future__ import annotations

import subprocess
import sys


def test_package_stays_light() -> None:
    code = "import sys, moorage.client; sys.exit(' '.join({'aiohttp', 'yaml'} & set(sys.modules)) or None)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
