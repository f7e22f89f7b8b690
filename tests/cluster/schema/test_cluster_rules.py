"""The files of rules fit the recorded types, and what their words mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from moorage.cluster.kinds import catalog as catalog  # with all relations
from moorage.cluster.schema import checking, rules
from moorage.cluster.schema.builtin import type_named
from moorage.cluster.schema.checking import check
from moorage.cluster.schema.defaulting import fill_defaults
from moorage.cluster.schema.forms import FORMS
from moorage.cluster.schema.rules import RULES, rules_of

FILES = sorted(RULES.glob("*.txt"))


def types_in(file: Path) -> list[str]:
    return [block.split()[0] for block in file.read_text().strip().split("\n\n")]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_type_stands_once_and_can_be_checked(file: Path) -> None:
    names = types_in(file)
    assert len(set(names)) == len(names)
    for name in names:
        type_name = f"{file.stem}.{name}"
        for line in rules_of(type_name).lines:
            assert line.is_about_relations or line.path[0].name in type_named(type_name).fields
        checking._checker_named(type_name)  # reads every word of its lines
        fill_defaults(type_name, {})


def test_a_type_has_the_lines_of_one_it_is_like_but_for_fields_with_lines_of_their_own() -> None:
    like, own = rules_of("core.v1.Container"), rules_of("core.v1.EphemeralContainer")
    assert own.facts["like"] == "Container"
    paths = [line.path for line in own.lines]
    assert {line.path for line in like.lines} <= set(paths)
    (policy,) = [line for line in own.lines if line.path[0].name == "restartPolicy"]
    assert [rule.name for rule in policy.rules] == ["forbidden"]


@pytest.mark.parametrize(
    ("policy", "problems"),
    [(None, []), ("Never", []), ("", ["Required value"]), ("x", ["Unsupported value"])],
)
def test_a_field_that_is_required_where_it_is_present(policy: str | None, problems: list[str]) -> None:
    spec = {"containers": [], "restartPolicy": "Always", "dnsPolicy": "Default"}
    if policy is not None:
        spec["preemptionPolicy"] = policy
    found = [cause for cause in check("core.v1.PodSpec", spec) if cause.field == "preemptionPolicy"]
    assert [cause.message.partition(":")[0] for cause in found] == problems


def test_every_place_given_to_a_relation_is_for_one_that_exists() -> None:
    known = {relation.__name__.strip("_") for each in checking._relations.values() for relation, _ in each}
    named = {
        word
        for file in FILES
        for name in types_in(file)
        for line in rules_of(f"{file.stem}.{name}").lines
        if line.is_about_relations
        for word in line.rules[0].words
    }
    assert named - known <= {"alternatives"}  # the one that `first-of=` stands for


@pytest.mark.parametrize(
    ("word", "value", "problems"),
    [
        ('alone * "no others"', ["a", "b"], []),
        ('alone * "no others"', ["*"], []),
        ('alone * "no others"', ["*", "a"], ['x: Invalid value: ["*","a"]: no others']),
        ('some-of a,b "needs one"', {"b": 0}, []),
        ('some-of a,b "needs one"', {"c": 1}, ["x.a: Required value: needs one"]),
        ('not-both a,b "only one"', {"a": 1}, []),
        ('not-both a,b "only one"', {"a": 1, "b": 1}, ["x.a: Forbidden: only one"]),
    ],
)
def test_words_about_what_is_in_a_list_or_an_object(word: str, value: object, problems: list[str]) -> None:
    (rule,) = rules._line(f"x {word}").rules
    assert [str(cause) for cause in checking._RULES[rule.name](rule)(value, "x")] == problems


@pytest.mark.parametrize(
    ("form", "good", "bad"),
    [
        ("not-ip", ("a.b", "", "fe80::1%eth0"), ("1.2.3.4", "010.1.1.1", "::1")),
        ("dns-subdomain-or-wildcard", ("a.b", "*.a.b"), ("", "*", "a.*", "A")),
    ],
)
def test_forms_of_hosts(form: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    assert [text for text in (*good, *bad) if FORMS[form](text)] == list(bad)
