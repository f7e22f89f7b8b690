from __future__ import annotations

from moorage.cel.libraries.catalog import KUBERNETES
from moorage.cel.types import Type, type_of
from tests.cel.libraries.calling import OVERLOADS


def test_overloads_have_names_of_their_own() -> None:
    assert len(OVERLOADS) == sum(
        len(function.overloads) for library in KUBERNETES for function in library.functions
    )


def test_members_have_a_receiver() -> None:
    for _, overload in OVERLOADS.values():
        assert overload.parameters or not overload.is_member


def test_only_addresses_have_types_with_names() -> None:
    constants = [constant for library in KUBERNETES for constant in library.constants]
    assert constants == [(name, type_of(Type(name)), Type(name)) for name in ("net.IP", "net.CIDR")]


def test_the_sign_is_not_a_member() -> None:
    assert not OVERLOADS["quantity_sign"][1].is_member
