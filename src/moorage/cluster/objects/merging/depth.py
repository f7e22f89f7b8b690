"""Documents that are nested too deeply to be worked on."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from moorage.cluster.base.errors import bad_request

_P = ParamSpec("_P")
_R = TypeVar("_R")


def refuses_depth(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Makes a function refuse the request where its recursion would be too deep."""

    @wraps(function)
    def refusing(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            raise bad_request("exceeded max depth") from None

    return refusing
