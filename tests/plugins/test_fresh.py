from __future__ import annotations

from moorage.plugins.fresh import Fresh


def test_an_answer_is_computed_once_per_version() -> None:
    asked: list[str] = []

    def compute(key: str) -> str:
        asked.append(key)
        return key.upper()

    cache = Fresh(10, compute)
    assert [cache.get("a", 1), cache.get("a", 1), cache.get("b", 1)] == ["A", "A", "B"]
    assert asked == ["a", "b"]
    assert cache.get("a", 2) == "A"
    assert asked == ["a", "b", "a"]
    assert len(cache) == 1


def test_what_was_used_longest_ago_is_forgotten() -> None:
    cache = Fresh[int, str](2, str)
    for key in (1, 2, 1, 3):
        cache.get(key, "v")
    assert len(cache) == 2
