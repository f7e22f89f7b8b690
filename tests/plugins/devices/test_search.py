"""What is found, in which order, and how soon it is clear that there is nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from moorage.api.decoding import from_document
from moorage.api.devices import ResourceClaim
from moorage.plugins.devices.allocation.allocator import InCommon
from moorage.plugins.devices.allocation.failures import AllocationFailed, InvalidPools, TimedOut
from moorage.plugins.devices.allocation.results import Plan
from tests.plugins.devices.device_objects import (
    DRIVER,
    Cluster,
    all_of,
    cel,
    claim,
    device_class,
    exactly,
    first_of,
    held,
    node,
    resource_slice,
)
from tests.plugins.devices.obvious import Broken

Document = dict[str, Any]


def numbered(number: int, start: int = 0, **device: Any) -> list[Document]:
    return [{"name": f"g{place:02}", **device} for place in range(start, start + number)]


def on_numa(*values: Any) -> list[Document]:
    return [
        {"name": f"g{place}", "attributes": {"numa": {"int" if isinstance(each, int) else "string": each}}}
        for place, each in enumerate(values)
    ]


def gpus(*names: str, request: str = "r", pool: str = "n1") -> list[str]:
    return [f"{request}: {DRIVER}/{pool}/{name}" for name in names]


def looks(most: int) -> Callable[[], float]:
    """A clock that has been looked at too often after so many times; a search does it every 16 steps."""
    ticks: Iterator[int] = count()
    return lambda: float(next(ticks) >= most)


MATCH: Document = {"constraints": [{"matchAttribute": f"{DRIVER}/numa"}]}
DISTINCT: Document = {"constraints": [{"distinctAttribute": f"{DRIVER}/numa"}]}


def test_the_first_device_that_is_free_is_taken() -> None:
    cluster = Cluster([resource_slice("s", ["a", "b", "c"])], claims=[held(("n1", "a"))])
    assert cluster.devices(claim(exactly())) == [gpus("b")]
    assert cluster.devices(claim(exactly(count=2))) == [gpus("b", "c")]
    assert cluster.devices(claim(exactly(count=3))) is None


def test_a_later_request_can_push_an_earlier_one_to_its_second_choice() -> None:
    cluster = Cluster(
        [resource_slice("s", ["a", "b"])],
        a=lambda _, device: device["name"] == "a",
        b=lambda _, device: device["name"] == "b",
    )
    prefers_a = first_of("first", {"name": "x", "selectors": cel("a")}, {"name": "y", "selectors": cel("b")})
    plans = cluster.allocator(claim(prefers_a, exactly("second", selectors=cel("a")))).allocate(node())
    assert plans is not None
    assert plans[0].devices == (*gpus("b", request="first/y"), *gpus("a", request="second"))
    assert plans[0].chosen == {"first": 1}


def test_claims_that_ask_for_the_same_are_prepared_once_and_keep_their_names() -> None:
    def broken_for_b(_: str, device: Document) -> bool:
        if device["name"] == "b":
            raise Broken("CEL runtime error: no such key: numa")
        return True

    cluster = Cluster([resource_slice("s", ["a", "b"])], sound=broken_for_b)
    in_common = InCommon()

    def plans(name: str, **config: Any) -> list[Plan] | None:
        wanted = claim(exactly(selectors=cel("sound")), name=name, **config)
        return cluster.allocator(wanted, in_common=in_common).allocate(node())

    first, second = plans("first"), plans("second")
    assert first is not None and second is not None
    assert first[0].devices == second[0].devices == tuple(gpus("a"))
    assert (first[0].claim.name, second[0].claim.name) == ("first", "second")
    cluster.in_use.put_claim(from_document(ResourceClaim, held(("n1", "a"))))
    with pytest.raises(AllocationFailed, match=r"^claim default/third: selector #0: CEL runtime error"):
        plans("third")


def test_devices_agree_in_an_attribute() -> None:
    cluster = Cluster([resource_slice("s", on_numa(0, 1, 1))])
    assert cluster.devices(claim(exactly(count=2), **MATCH)) == [gpus("g1", "g2")]
    assert Cluster([resource_slice("s", on_numa(1, "1"))]).devices(claim(exactly(count=2), **MATCH)) is None


def test_a_distinct_value_is_forgotten_when_its_device_is_taken_back() -> None:
    cluster = Cluster(
        [resource_slice("s", on_numa(0, 1, 0))], the_second=lambda _, device: device["name"] == "g1"
    )
    wanted = claim(exactly("a", 2), exactly("b", selectors=cel("the_second")), **DISTINCT)
    wanted["spec"]["devices"]["constraints"][0]["requests"] = ["a"]
    assert cluster.devices(wanted) == [gpus("g0", "g2", request="a") + gpus("g1", request="b")]


def test_administrators_take_what_is_in_use_but_not_twice() -> None:
    cluster = Cluster([resource_slice("s", ["a"])], claims=[held(("n1", "a"))])
    wanted = claim(exactly(adminAccess=True))
    plans = cluster.allocator(wanted).allocate(node())
    assert plans is not None
    assert plans[0].devices == (f"r: {DRIVER}/n1/a (admin)",)
    assert plans[0].document["devices"]["results"][0]["adminAccess"] is True
    assert cluster.devices(claim(exactly("r", adminAccess=True), exactly("s", adminAccess=True))) is None
    assert cluster.devices(wanted, claim(exactly(adminAccess=True), name="d")) is not None


@pytest.mark.parametrize(
    ("taint", "toleration", "is_taken"),
    [
        ({"effect": "NoSchedule"}, None, False),
        ({"effect": "NoExecute"}, {"operator": "Exists"}, True),
        ({"effect": "NoSchedule"}, {"operator": "Equal", "key": "k", "value": "w"}, False),
        ({"effect": "NoSchedule"}, {"operator": "Exists", "effect": "NoExecute"}, False),
        ({"effect": "None"}, None, True),
    ],
)
def test_taints(taint: Document, toleration: Document | None, is_taken: bool) -> None:
    device = {"name": "a", "taints": [{"key": "k", "value": "v", **taint}]}
    asked: Document = {} if toleration is None else {"tolerations": [toleration]}
    found = Cluster([resource_slice("s", [device])]).devices(claim(exactly(**asked)))
    assert (found is not None) is is_taken


COUNTERS = resource_slice(
    "counters", count=3, sharedCounters=[{"name": "s", "counters": {"x": {"value": "4"}}}]
)


def drawing(name: str, amount: str) -> Document:
    return {"name": name, "consumesCounters": [{"counterSet": "s", "counters": {"x": {"value": amount}}}]}


def test_devices_of_other_nodes_draw_on_the_same_counters() -> None:
    slices = [
        COUNTERS,
        resource_slice("s", [drawing("a", "2"), drawing("b", "1")], count=3),
        resource_slice("t", [drawing("c", "3")], count=3, nodeName="n2"),
    ]
    assert Cluster(slices).devices(claim(exactly())) == [gpus("a")]
    assert Cluster(slices, claims=[held(("n1", "c"))]).devices(claim(exactly())) == [gpus("b")]
    assert Cluster(slices, claims=[held(("n1", "c"))]).devices(claim(exactly(count=2))) is None


class TestAllDevices:
    def test_all_or_nothing(self) -> None:
        slices = [resource_slice("s", ["a", "b"])]
        assert Cluster(slices).devices(claim(all_of())) == [gpus("a", "b")]
        assert Cluster(slices, claims=[held(("n1", "b"))]).devices(claim(all_of())) is None
        assert Cluster().devices(claim(all_of())) is None

    def test_a_constraint_in_the_way_ends_the_attempt_though_there_is_another_alternative(self) -> None:
        cluster = Cluster([resource_slice("s", on_numa(0, 1))])
        ways = first_of("r", {"name": "all", "allocationMode": "All"}, {"name": "one"})
        text = (
            f"claim default/c, request all: cannot add device {DRIVER}/n1/g1 "
            "because a claim constraint would not be satisfied"
        )
        with pytest.raises(AllocationFailed, match=text):
            cluster.devices(claim(ways, **MATCH))

    @pytest.mark.parametrize(
        ("unusable", "problem"),
        [
            ([resource_slice("t", ["x"], pool="p", count=2)], "being updated"),
            (
                [
                    resource_slice("t", ["x"], pool="p", count=2),
                    resource_slice("u", ["x"], pool="p", count=2),
                ],
                "invalid",
            ),
        ],
    )
    def test_a_pool_that_cannot_be_used_ends_the_attempt(
        self, unusable: list[Document], problem: str
    ) -> None:
        cluster = Cluster([resource_slice("s", ["a"]), *unusable])
        text = f"asks for all devices, but resource pool {DRIVER}/p is currently {problem}"
        with pytest.raises(AllocationFailed) as raised:
            cluster.devices(claim(all_of()))
        assert str(raised.value) == f"claim default/c, request r: {text}"
        assert cluster.devices(claim(exactly())) == [gpus("a")]


def test_an_invalid_pool_is_blamed_only_if_nothing_is_found() -> None:
    bad = [resource_slice(name, ["x"], pool="p", count=2) for name in "tu"]
    cluster = Cluster([resource_slice("s", ["a"]), *bad])
    assert cluster.devices(claim(exactly())) == [gpus("a")]
    with pytest.raises(InvalidPools, match="invalid resource pools were encountered"):
        cluster.devices(claim(exactly(count=2)))


class TestMistakes:
    def test_a_class_that_does_not_exist(self) -> None:
        with pytest.raises(AllocationFailed) as raised:
            Cluster(classes=()).devices(claim(exactly()))
        assert str(raised.value) == (
            "claim default/c, request r: could not retrieve device class gpu: "
            'deviceclass.resource.k8s.io "gpu" not found'
        )

    @pytest.mark.parametrize(
        ("asked", "text"),
        [
            ({"selectors": [{}]}, ", selector #0: CEL expression empty (unsupported selector type?)"),
            ({"deviceClassName": ""}, ": missing device class name (unsupported request type?)"),
            ({"allocationMode": "Some"}, ": unsupported count mode Some"),
        ],
    )
    def test_requests_that_nobody_understands(self, asked: Document, text: str) -> None:
        for request in (exactly("r", **asked), first_of("x", {"name": "r", **asked})):
            with pytest.raises(AllocationFailed) as raised:
                Cluster().devices(claim(request))
            assert str(raised.value) == f"claim default/c, request r{text}"

    def test_too_many_devices(self) -> None:
        with pytest.raises(AllocationFailed) as raised:
            Cluster().devices(
                claim(exactly("r", 30), first_of("s", {"name": "a", "count": 9}, {"name": "b", "count": 3}))
            )
        assert str(raised.value) == (
            "claim default/c: number of requested devices 33 exceeds the claim limit of 32"
        )

    def test_a_constraint_of_no_type(self) -> None:
        with pytest.raises(AllocationFailed) as raised:
            Cluster().devices(claim(exactly(), constraints=[{"requests": ["r"]}]))
        assert str(raised.value) == (
            "claim default/c, constraint #0: empty constraint (unsupported constraint type?)"
        )


class TestSelectors:
    def test_are_asked_in_order_and_only_until_one_says_no(self) -> None:
        cluster = Cluster(
            [resource_slice("s", ["a", "b"])],
            [device_class("gpu", "first", "second")],
            first=lambda *_: True,
            second=lambda _, device: device["name"] == "b",
            third=lambda *_: True,
        )
        assert cluster.devices(claim(exactly(selectors=cel("third")))) == [gpus("b")]
        asked = [("first", "a"), ("second", "a"), ("first", "b"), ("second", "b"), ("third", "b")]
        assert cluster.selectors.asked == asked
        assert cluster.devices(claim(exactly(selectors=cel("third")))) == [gpus("b")]
        assert cluster.selectors.asked == asked

    def test_an_error_ends_the_attempt_if_the_search_comes_to_it(self) -> None:
        def only_a(driver: str, device: Document) -> bool:
            if device["name"] != "a":
                raise Broken("CEL runtime error: no such key: x")
            return True

        cluster = Cluster([resource_slice("s", ["a", "b"])], only_a=only_a)
        wanted = exactly(selectors=cel("only_a"))
        assert cluster.devices(claim(wanted)) == [gpus("a")]
        for problem in (
            claim(exactly("r", 2, selectors=cel("only_a"))),
            claim(wanted, exactly("s", selectors=cel("only_a"))),
        ):
            with pytest.raises(
                AllocationFailed, match="claim default/c: selector #0: CEL runtime error: no such"
            ):
                cluster.devices(problem)

    def test_an_error_names_the_class(self) -> None:
        def broken(driver: str, device: Document) -> bool:
            raise Broken("CEL compile error: what?")

        cluster = Cluster([resource_slice("s", ["a"])], [device_class("gpu", "broken")], broken=broken)
        with pytest.raises(AllocationFailed, match="class gpu: selector #0: CEL compile error: what"):
            cluster.devices(claim(exactly()))
        free_of_devices = Cluster((), [device_class("gpu", "broken")], broken=broken)
        assert free_of_devices.devices(claim(exactly())) is None


class TestHopelessSearches:
    """None of these would end in a lifetime if everything was tried."""

    def nothing(self, cluster: Cluster, *claims: Document) -> bool:
        return cluster.allocator(*claims, seconds=1, clock=looks(200)).allocate(node()) is None

    def test_more_devices_than_there_are(self) -> None:
        cluster = Cluster([resource_slice("s", numbered(31))])
        assert self.nothing(cluster, claim(exactly(count=32)))

    def test_more_devices_that_agree_than_there_are(self) -> None:
        cluster = Cluster([resource_slice("s", on_numa(*[place % 2 for place in range(60)]))])
        assert self.nothing(cluster, claim(exactly(count=31), **MATCH))
        each = [exactly(f"r{place:02}") for place in range(31)]
        assert self.nothing(cluster, claim(*each, **MATCH))

    def test_equal_requests_in_several_claims(self) -> None:
        cluster = Cluster([resource_slice("s", numbered(24))])
        for size in (1, 5):
            claims = [claim(exactly(count=size), name=f"c{place:02}") for place in range(25 // size)]
            assert self.nothing(cluster, *claims)

    def test_a_last_request_that_nothing_can_meet(self) -> None:
        cluster = Cluster([resource_slice("s", numbered(30))], nothing=lambda *_: False)
        assert self.nothing(cluster, claim(exactly("r", 15), exactly("s", selectors=cel("nothing"))))

    def test_requests_for_overlapping_sets(self) -> None:
        """Three requests want two even ones each of ten devices, and others three odd ones or any three."""
        cluster = Cluster(
            [resource_slice("s", numbered(10))],
            even=lambda _, device: int(device["name"][1:]) % 2 == 0,
            odd=lambda _, device: int(device["name"][1:]) % 2 == 1,
        )
        requests = [exactly("any", 3), exactly("odd", 3, selectors=cel("odd"))]
        requests += [exactly(f"e{place}", 2, selectors=cel("even")) for place in range(3)]
        assert self.nothing(cluster, claim(*requests))

    def test_more_than_the_counters_give(self) -> None:
        cards = [f"card-{place}" for place in range(4)]
        sets = [{"name": card, "counters": {"slices": {"value": "3"}}} for card in cards]
        parts = [
            {
                "name": f"{card}-part-{part}",
                "consumesCounters": [{"counterSet": card, "counters": {"slices": {"value": "1"}}}],
            }
            for card in cards
            for part in range(7)
        ]
        slices = [resource_slice("c", count=2, sharedCounters=sets), resource_slice("s", parts, count=2)]
        assert self.nothing(Cluster(slices), claim(exactly(count=13)))
        assert self.nothing(Cluster(slices), *(claim(exactly(), name=f"c{place}") for place in range(13)))
        assert Cluster(slices).devices(claim(exactly(count=12))) is not None

    def test_an_alternative_that_is_too_large_leads_to_one_that_fits(self) -> None:
        cluster = Cluster([resource_slice("s", numbered(24))])
        ways = first_of("r", {"name": "many", "count": 20}, {"name": "few", "count": 10})
        plans = cluster.allocator(claim(ways, exactly("s", 14)), seconds=1, clock=looks(200)).allocate(node())
        assert plans is not None
        assert plans[0].chosen == {"r": 1}

    def test_an_error_that_everything_has_to_be_tried_for_takes_too_long(self) -> None:
        """The first device is asked about by the second request only when the first request lets go of it."""

        def fails_for_first(driver: str, device: Document) -> bool:
            if device["name"] == "g00":
                raise Broken("CEL runtime error: no such key: x")
            return False

        cluster = Cluster([resource_slice("s", numbered(30))], fails_for_first=fails_for_first)
        wanted = claim(exactly("r", 15), exactly("s", selectors=cel("fails_for_first")))
        with pytest.raises(TimedOut):
            cluster.allocator(wanted, seconds=1, clock=looks(200)).allocate(node())
        few = Cluster([resource_slice("s", numbered(12))], fails_for_first=fails_for_first)
        with pytest.raises(AllocationFailed, match="selector #0: CEL runtime error"):
            few.devices(claim(exactly("r", 6), exactly("s", selectors=cel("fails_for_first"))))


def test_the_time_is_looked_at_before_the_first_step() -> None:
    cluster = Cluster([resource_slice("s", ["a"])])
    with pytest.raises(TimedOut):
        cluster.allocator(claim(exactly()), seconds=1, clock=count().__next__).allocate(node())
    assert cluster.allocator(claim(exactly()), seconds=0, clock=count().__next__).allocate(node()) is not None


def test_a_pod_with_a_great_many_devices() -> None:
    """Each is looked for within the search for the one before, deeper than Python goes by itself."""
    cluster = Cluster(
        [resource_slice(f"s{place}", numbered(100, 100 * place), count=20) for place in range(20)]
    )
    found = cluster.devices(*(claim(exactly(count=32), name=f"c{place}") for place in range(60)))
    assert found is not None
    assert len({device for each in found for device in each}) == 60 * 32
