from moorage.cluster.serving.herald import Crowd


def test_only_many_writes_in_a_short_time_are_a_crowd() -> None:
    now = 100.0
    crowd = Crowd(lambda: now)
    assert [crowd.is_there() for _ in range(40)] == [False] * 20 + [True] * 20
    now += 0.2
    assert not crowd.is_there()
    for _ in range(200):
        now += 0.01
        assert not crowd.is_there()
