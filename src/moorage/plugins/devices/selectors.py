"""TEMPORARY stand-in: asks the Go program."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import msgspec

from moorage.api.devices import Device
from moorage.plugins.devices.selecting import SelectorError

_process: Any = None


class CelSelectors:
    def matches(self, expression: str, driver: str, device: Device) -> bool:
        global _process
        if _process is None:
            _process = subprocess.Popen(
                ["/tmp/celfeed"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        _process.stdin.write(
            json.dumps({"expression": expression, "driver": driver, "device": msgspec.to_builtins(device)})
            + "\n"
        )
        _process.stdin.flush()
        answer = json.loads(_process.stdout.readline())
        if "compileError" in answer:
            raise SelectorError(f"CEL compile error: {answer['compileError']}")
        if "runtimeError" in answer:
            raise SelectorError(f"CEL runtime error: {answer['runtimeError']}")
        return answer["result"]
