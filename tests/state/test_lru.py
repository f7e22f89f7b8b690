from __future__ import annotations

from moorage.state.lru import Lru


def test_it_forgets_what_was_used_longest_ago() -> None:
    forgotten: list[str] = []
    cache = Lru[int, str](2, forgotten.append)
    cache.put(1, "one")
    cache.put(2, "two")
    assert cache.get(1) == "one"
    cache.put(3, "three")
    assert forgotten == ["two"]
    assert (cache.get(2), list(cache), len(cache)) == (None, ["one", "three"], 2)


def test_without_trimming_on_put_it_holds_more_until_told() -> None:
    cache = Lru[int, str](1, trim_on_put=False)
    for number in range(3):
        cache.put(number, str(number))
    assert len(cache) == 3
    assert cache.trim()
    assert list(cache) == ["2"]
    assert not cache.trim()


def test_discard_and_clear() -> None:
    cache = Lru[int, str](5)
    cache.put(1, "one")
    cache.put(2, "two")
    cache.discard(1)
    cache.discard(7)
    assert list(cache) == ["two"]
    cache.clear()
    assert len(cache) == 0
