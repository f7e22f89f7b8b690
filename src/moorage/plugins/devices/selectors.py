"""Device selectors in CEL: each expression is compiled once, each device read once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from moorage.api.devices import Device
from moorage.plugins.devices.selecting import SelectorError
from moorage.state.lru import Lru

if TYPE_CHECKING:
    from moorage.cel.devices import Selector

_EXPRESSIONS = 1024
_DEVICES = 65536


class CelSelectors:
    """What expressions say of devices. The language is loaded when the first expression is met."""

    def __init__(self) -> None:
        self._compiled = Lru[str, "Selector | SelectorError"](_EXPRESSIONS)
        self._values = Lru[int, tuple[Device, Any]](_DEVICES)

    def matches(self, expression: str, driver: str, device: Device) -> bool:
        """Raises SelectorError."""
        from moorage.cel.values import EvaluationError

        selector = self._compiled.get(expression) or self._compile(expression)
        if isinstance(selector, SelectorError):
            raise selector
        try:
            return selector.matches_value(self._value(driver, device))
        except EvaluationError as error:
            raise SelectorError(f"CEL runtime error: {error}") from None

    def _compile(self, expression: str) -> Selector | SelectorError:
        from moorage.cel.devices import compile_selector
        from moorage.cel.source import CompileError

        made: Selector | SelectorError
        try:
            made = compile_selector(expression)
        except CompileError as error:
            made = SelectorError(f"CEL compile error: {error}")
        return self._compiled.put(expression, made)

    def _value(self, driver: str, device: Device) -> Any:
        """A device stays what it is, so it is read once; it is known by its identity while it is kept here."""
        from moorage.cel.devices import device_value

        known = self._values.get(id(device))
        if known is None or known[0] is not device:
            value = device_value(driver, msgspec.to_builtins(device))
            known = self._values.put(id(device), (device, value))
        return known[1]
