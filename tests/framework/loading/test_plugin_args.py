from __future__ import annotations

from typing import Annotated, Any

import msgspec
import pytest

from moorage.framework.extension_points import FilterPlugin
from moorage.framework.loading.plugin_args import decode_args
from moorage.framework.loading.registry import PluginLoadError


class Price(msgspec.Struct, rename="camel"):
    per_hour: Annotated[int, msgspec.Meta(ge=0)] = 1


class Args(msgspec.Struct, rename="camel"):
    weight: int = 10
    node_label: str = "noisy"
    price: Price = msgspec.field(default_factory=Price)
    maybe: Price | None = None
    prices: list[Price] = []
    by_zone: dict[str, Price] = {}
    anything: Any = None


class Strict(msgspec.Struct):
    needed: int


class WithArgs(FilterPlugin):
    args_type = Args


class WithStrictArgs(FilterPlugin):
    args_type = Strict


class WithoutArgs(FilterPlugin):
    pass


@pytest.mark.parametrize(
    "given", [None, {}, {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "XArgs"}]
)
def test_absent_args_are_the_defaults(given: Any) -> None:
    assert decode_args(WithArgs, given) == Args()


def test_args_are_decoded_into_the_struct() -> None:
    given = {
        "weight": 3,
        "nodeLabel": "loud",
        "price": {"perHour": 2},
        "maybe": {"perHour": 3},
        "prices": [{"perHour": 4}],
        "byZone": {"a": {"perHour": 5}},
        "anything": {"at": ["all"]},
    }
    assert decode_args(WithArgs, given) == Args(
        3, "loud", Price(2), Price(3), [Price(4)], {"a": Price(5)}, {"at": ["all"]}
    )


def test_args_that_are_decoded_already_are_taken_as_they_are() -> None:
    args = Args(weight=7)
    assert decode_args(WithArgs, args) is args


KNOWN = "unknown field; known are anything, byZone, maybe, nodeLabel, price, prices, weight"
KNOWN_OF_PRICE = "unknown field; known are perHour"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"wait": 1}, f"args.wait: {KNOWN}"),
        ({"node_label": "x"}, f"args.node_label: {KNOWN}"),
        ({"a": 1, "b": 2}, f"args.a: {KNOWN}; args.b: {KNOWN}"),
        ({"price": {"perDay": 1}}, f"args.price.perDay: {KNOWN_OF_PRICE}"),
        ({"maybe": {"perDay": 1}}, f"args.maybe.perDay: {KNOWN_OF_PRICE}"),
        ({"prices": [{}, {"perDay": 1}]}, f"args.prices[1].perDay: {KNOWN_OF_PRICE}"),
        ({"byZone": {"a": {"perDay": 1}}}, f"args.byZone.a.perDay: {KNOWN_OF_PRICE}"),
        ({"weight": "3"}, "args.weight: Expected `int`, got `str`"),
        ({"weight": True}, "args.weight: Expected `int`, got `bool`"),
        ({"price": {"perHour": -1}}, "args.price.perHour: Expected `int` >= 0"),
        ({"price": 5}, "args.price: Expected `object`, got `int`"),
        ({"prices": [{"perHour": "x"}]}, "args.prices[0].perHour: Expected `int`, got `str`"),
        ([1], "args: expected a mapping, got list"),
        ("text", "args: expected a mapping, got str"),
    ],
)
def test_a_wrong_field_is_reported_with_its_path(given: Any, message: str) -> None:
    with pytest.raises(PluginLoadError) as caught:
        decode_args(WithArgs, given)
    assert str(caught.value) == message


def test_a_field_that_is_needed_is_asked_for() -> None:
    with pytest.raises(PluginLoadError, match=r"^args: Object missing required field `needed`$"):
        decode_args(WithStrictArgs, None)


@pytest.mark.parametrize("given", [None, {}])
def test_a_plugin_without_args_gets_none(given: Any) -> None:
    assert decode_args(WithoutArgs, given) is None


def test_a_plugin_without_args_refuses_some() -> None:
    with pytest.raises(PluginLoadError, match=r"^args: this plugin takes no arguments; remove them or set"):
        decode_args(WithoutArgs, {"weight": 1})
