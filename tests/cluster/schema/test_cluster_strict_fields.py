"""Unknown and repeated fields, as a real API server words them."""

from __future__ import annotations

from moorage.cluster.schema.mistakes import duplicate_fields, patch_warnings, strict_error, strict_warnings


def test_the_texts() -> None:
    unknown = ["spec.foo", 'spec.we"ird']
    assert strict_error(strict_warnings(unknown, [])) == (
        'strict decoding error: unknown field "spec.foo", unknown field "spec.we\\"ird"'
    )
    assert strict_error(strict_warnings([], ["kind", "spec"])) == (
        'strict decoding error: duplicate field "kind", duplicate field "spec"'
    )
    assert strict_warnings([], []) == []


def test_a_field_that_is_unknown_is_not_also_reported_as_repeated() -> None:
    found = strict_warnings(["spec.foo"], ["spec.foo", "spec.foo.bar", "spec.foo[0].a", "spec.food"])
    assert found == ['unknown field "spec.foo"', 'duplicate field "spec.food"']


def test_of_a_patch_the_repeated_fields_are_told_first() -> None:
    found = patch_warnings(["spec.foo"], ["spec.foo", "spec.food"])
    assert found == ['duplicate field "spec.foo"', 'duplicate field "spec.food"', 'unknown field "spec.foo"']


def test_no_more_than_a_hundred_are_reported() -> None:
    assert len(strict_warnings([f"spec.f{number}" for number in range(150)], [])) == 100


def test_repeated_fields() -> None:
    body = (
        b'{"kind":"Pod","spec":{"containers":[{"name":"a"},{"name":"b","name":"c"}],"nodeSelector":'
        b'{"a":"b","a":"c","a":"d"},"priority":5,"priority":6},"kind":"Pod"}'
    )
    assert duplicate_fields(body) == [
        "kind",
        "spec.containers[1].name",
        "spec.nodeSelector.a",
        "spec.priority",
    ]


def test_repeated_fields_in_other_spellings() -> None:
    assert duplicate_fields(b'{"a" : 1, "a" : 2}') == ["a"]
    assert duplicate_fields(b'{"a" : 1, "a":2}') == ["a"]
    assert duplicate_fields(b'{"a":"\\u0022:", "b":"\\":", "b":"x"}') == ["b"]
    assert duplicate_fields(b'{"\\u0061":1, "a":2}') == ["a"]
    assert duplicate_fields(b'{"a" : {"b\\\\" : "\\\\\\":"}}') == []


def test_bodies_without_repeated_fields_or_without_sense() -> None:
    assert duplicate_fields(b'{"a":{"b":1},"b":[{"b":1},{"b":1}]}') == []
    assert duplicate_fields(b"{") == []
    assert duplicate_fields(b'"a"') == []
    assert duplicate_fields(b"\xff\xfe\x00") == []
    assert duplicate_fields(b'{"a":' * 100_000) == []
    assert duplicate_fields(b'{"a":1,"a":%s}' % (b"9" * 10_000)) == []
