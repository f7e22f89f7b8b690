"""The launch file of docs/debugging.md is one that an editor can use: its commands are those there are."""

from __future__ import annotations

import json

from moorage.cli.up import up
from tests.docs.blocks import ROOT, blocks_of


def test_the_launch_file_starts_a_command_that_there_is() -> None:
    [block] = [block for block in blocks_of(ROOT / "docs" / "debugging.md") if block.language == "json"]
    launch, attach = json.loads(block.text)["configurations"]
    assert (launch["type"], launch["request"], launch["module"]) == ("debugpy", "launch", "moorage")
    command, *arguments = launch["args"]
    context = up.make_context(command, [each.replace("${file}", "plugin.py") for each in arguments])
    assert command == up.name
    assert context.params["plugins"] == ("plugin.py",)
    assert attach["request"] == "attach"
