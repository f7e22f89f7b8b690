"""Selectors as the API has them: CEL expressions. The language is loaded when the first one is met."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from moorage.api.devices import Device
from moorage.plugins.devices.allocation.selecting import SelectorError

if TYPE_CHECKING:
    from moorage.cel.devices import Selector


class CelSelectors:
    """Compiled expressions; what they said about a device the device remembers."""

    def __init__(self) -> None:
        self._last: tuple[str, Device | None, Any] = ("", None, None)

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Asks one expression about one device; raises SelectorError."""
        from moorage.cel.values import EvaluationError

        compiled = _compiled(expression)
        if isinstance(compiled, str):
            raise SelectorError(f"CEL compile error: {compiled}")
        try:
            return compiled.matches_value(self._value(driver, device))
        except EvaluationError as error:
            raise SelectorError(f"CEL runtime error: {error}") from None

    def _value(self, driver: str, device: Device) -> Any:
        """What expressions see; mostly several in a row ask about the same device."""
        from moorage.cel.devices import device_value

        last_driver, last_device, value = self._last
        if last_device is not device or last_driver != driver:
            value = device_value(driver, msgspec.to_builtins(device))
            self._last = (driver, device, value)
        return value


@lru_cache(maxsize=256)
def _compiled(expression: str) -> Selector | str:
    from moorage.cel.devices import compile_selector
    from moorage.cel.syntax.source import CompileError

    try:
        return compile_selector(expression)
    except CompileError as error:
        return str(error)
