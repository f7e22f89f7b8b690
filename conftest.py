"""Has the pytest plugin of Moorage at hand, whether this folder was installed with it or not."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]


def pytest_configure(config: pytest.Config) -> None:
    if not config.pluginmanager.hasplugin("moorage"):
        from moorage.testing import pytest_plugin

        config.pluginmanager.register(pytest_plugin, "moorage")
