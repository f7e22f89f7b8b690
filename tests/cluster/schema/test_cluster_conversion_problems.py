"""What is wrong with merged values, in the words that kube-apiserver uses for it."""

import pytest

from moorage.cluster.schema.mistakes import conversion_problem


@pytest.mark.parametrize(
    ("found", "wanted", "words"),
    [
        ("string", "[]v1.Container", "cannot restore slice from string"),
        ("object", "[]v1.OwnerReference", "cannot restore slice from map"),
        ("array", "map[string]string", "cannot restore map from slice"),
        ("number", "v1.ObjectMeta", "cannot restore struct from: int64"),
        ("array", "v1.ObjectMeta", "cannot restore struct from: slice"),
        ("number", "string", "cannot convert int64 to string"),
        ("number 1.5", "int64", "cannot convert float64 to int64"),
        ("string", "int32", "unrecognized type: int32"),
        ("string", "bool", "unrecognized type: bool"),
        ("bool", "string", "unrecognized type: string"),
    ],
)
def test_values_of_wrong_types(found: str, wanted: str, words: str) -> None:
    problem = f"json: cannot unmarshal {found} into Go struct field PodSpec.spec.field of type {wanted}"
    assert conversion_problem(problem) == words


def test_texts_that_cannot_be_read() -> None:
    base64 = "illegal base64 data at input byte 0"
    assert conversion_problem(base64) == f"error decoding from json: {base64}"
    time = 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'
    assert conversion_problem(time) == time
