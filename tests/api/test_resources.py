from __future__ import annotations

import pytest

from moorage.api.names import is_label_value, is_qualified_name
from moorage.api.resources import is_extended, is_native, is_scalar

LONG_NAME = "n" * 63
LONG_PREFIX = "p" * 253


@pytest.mark.parametrize(
    ("name", "native", "extended", "scalar"),
    [
        ("cpu", True, False, False),
        ("memory", True, False, False),
        ("ephemeral-storage", True, False, False),
        ("pods", True, False, False),
        ("storage", True, False, False),
        ("", True, False, False),
        ("hugepages-2Mi", True, False, True),
        ("hugepages-", True, False, True),
        ("hugepages", True, False, False),
        ("attachable-volumes-aws-ebs", True, False, True),
        ("attachable-volumes", True, False, False),
        ("example.com/gpu", False, True, True),
        ("nvidia.com/gpu", False, True, True),
        ("kubernetes.io/thing", True, False, True),
        ("sub.kubernetes.io/thing", True, False, True),
        ("notkubernetes.io/thing", True, False, True),
        ("example.com/kubernetes.io/thing", True, False, True),
        ("kubernetes.io.example.com/thing", False, True, True),
        ("requests.example.com/gpu", False, False, False),
        ("requests.cpu", True, False, False),
        ("Example.com/gpu", False, False, False),
        ("example.com/", False, False, False),
        ("/gpu", False, False, False),
        ("example.com/a/b", False, False, False),
        ("example.com/-gpu", False, False, False),
        ("-example.com/gpu", False, False, False),
        (f"example.com/{LONG_NAME}", False, True, True),
        (f"example.com/{LONG_NAME}n", False, False, False),
        (f"{'p' * 244}/gpu", False, True, True),
        (f"{'p' * 245}/gpu", False, False, False),
    ],
)
def test_classes(name: str, native: bool, extended: bool, scalar: bool) -> None:
    assert (is_native(name), is_extended(name), is_scalar(name)) == (native, extended, scalar)


@pytest.mark.parametrize(
    "name",
    [
        *("a", "A", "0", "a-b", "a_b", "a.b", "A.b-C_9", LONG_NAME),
        *("a/b", "example.com/zone", "0/0", "a-b.c-d/X", f"{LONG_PREFIX}/{LONG_NAME}", "a.b.c.d/e"),
    ],
)
def test_qualified_names(name: str) -> None:
    assert is_qualified_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *("", "-a", "a-", ".a", "a.", "_a", "a_", "a b", "a\n", "ä", "a!", f"{LONG_NAME}n", "x" * 65536),
        *(
            "/",
            "/a",
            "a/",
            "a/b/c",
            "A/b",
            "a_b/c",
            "-a/b",
            "a-/b",
            "a..b/c",
            ".a/b",
            "a./b",
            "a.-b/c",
            "ä/b",
        ),
        *(f"{LONG_PREFIX}p/a", "a/-b", f"a/{LONG_NAME}n", " a/b", "a /b", "a/ b"),
    ],
)
def test_names_that_are_not_qualified(name: str) -> None:
    assert not is_qualified_name(name)


@pytest.mark.parametrize("text", ["", "a", "A-b_c.d", "0", LONG_NAME, "1.2.3"])
def test_label_values(text: str) -> None:
    assert is_label_value(text)


@pytest.mark.parametrize(
    "text",
    ["-5", "+5", "a-", "-", ".", "_a", "a b", " ", "a/b", "é", "a\n", "٣", f"{LONG_NAME}n", "x" * 65536],
)
def test_texts_that_are_not_label_values(text: str) -> None:
    assert not is_label_value(text)
