"""The allocator in the slow and obvious form: plain documents, plain recursion, copies, nothing left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil
from typing import Any, NamedTuple

import msgspec

from moorage.api.decoding import from_document
from moorage.api.nodes import Node
from moorage.api.quantities import parse_quantity
from moorage.api.selectors import NodeSelector

Document = dict[str, Any]
Selector = Callable[[str, Document], bool]
"""Driver and device; raises Broken with what is wrong."""

NONE = "cannot allocate all claims"
INVALID = "invalid resource pools were encountered"


class Broken(Exception):
    """The attempt ends with this text."""


class World(NamedTuple):
    slices: list[Document]
    classes: dict[str, Document]
    claims: list[Document]
    """All that have an allocation."""
    selectors: dict[str, Selector]


class Pool(NamedTuple):
    id: tuple[str, str]
    state: str
    slices: list[Document]
    """With devices for the node."""
    whole: list[Document]


class Item(NamedTuple):
    """A device in its slice and pool."""

    pool: Pool
    slice: Document
    device: Document

    @property
    def id(self) -> tuple[str, str, str]:
        return (*self.pool.id, self.device["name"])

    @property
    def shared(self) -> bool:
        return bool(self.device.get("allowMultipleAllocations"))


class Wish(NamedTuple):
    """A request or a sub-request."""

    claim: int
    request: str
    sub: str | None
    asked: Document
    number: int
    all: list[Item] | None

    @property
    def name(self) -> str:
        return self.request if self.sub is None else f"{self.request}/{self.sub}"

    @property
    def bare(self) -> str:
        return self.request if self.sub is None else self.sub

    @property
    def admin(self) -> bool:
        return bool(self.asked.get("adminAccess"))


class Pick(NamedTuple):
    wish: Wish
    item: Item


Memory = dict[tuple[int, int], dict[str, Any]]
"""What a distinctAttribute of a claim remembers: the last value of each request."""


def allocate(world: World, node: Document, claims: list[Document]) -> list[list[str]] | str:
    """For each claim `request: driver/pool/device`; or a text why there is nothing. Raises Broken."""
    picks = Attempt(world, node, claims).run()
    if isinstance(picks, str):
        return picks
    return [
        [
            f"{pick.wish.name}: {'/'.join(pick.item.id)}{' (admin)' if pick.wish.admin else ''}"
            for pick in picks
            if pick.wish.claim == number
        ]
        for number in range(len(claims))
    ]


class Attempt:
    def __init__(self, world: World, node: Document, claims: list[Document]) -> None:
        self.world = world
        self.node = from_document(Node, node)
        self.claims = claims
        self.exclusive: set[tuple[str, str, str]] = set()
        self.sharing: set[tuple[str, str, str]] = set()
        self.consumed: dict[tuple[str, str, str], dict[str, Fraction]] = {}
        for claim in world.claims:
            self.hold(claim)
        self.pools: list[Pool] = []
        self.items: list[Item] = []

    def hold(self, claim: Document) -> None:
        for result in claim["status"]["allocation"]["devices"].get("results", ()):
            if result.get("adminAccess"):
                continue
            device = (result["driver"], result["pool"], result["device"])
            if "shareID" not in result:
                self.exclusive.add(device)
                continue
            self.sharing.add(device)
            if result.get("consumedCapacity"):
                sums = self.consumed.setdefault(device, {})
                for name, amount in result["consumedCapacity"].items():
                    sums[name] = sums.get(name, Fraction(0)) + parse_quantity(amount)

    def run(self) -> list[Pick] | str:
        self.pools = self.gather()
        self.items = [
            Item(pool, each, device)
            for pool in self.pools
            if pool.state == "complete"
            for each in pool.slices
            for device in each["spec"].get("devices", ())
        ]
        self.wishes = [
            wishes for number, claim in enumerate(self.claims) for wishes in self.prepare(number, claim)
        ]
        picks = self.meet(0, [], {})
        if picks is None:
            return INVALID if any(pool.state == "invalid" for pool in self.pools) else NONE
        return picks

    # Pools

    def gather(self) -> list[Pool]:
        pools: dict[tuple[str, str], list[Document]] = {}
        for item in self.world.slices:
            if self.relevant(item["spec"]):
                pools.setdefault(pool_id(item), []).append(item)
        seen = [self.pool(each, slices) for each, slices in pools.items()]
        found = [pool for pool in seen if pool is not None]
        late = [
            pool for pool in found if any("bindingConditions" in device for device in devices(pool.slices))
        ]
        return sorted((pool for pool in found if pool not in late), key=lambda pool: pool.id) + sorted(
            late, key=lambda pool: pool.id
        )

    def relevant(self, spec: Document) -> bool:
        if spec.get("sharedCounters"):
            return True
        if spec.get("perDeviceNodeSelection"):
            return any(self.here(device) for device in spec.get("devices", ()))
        return self.here(spec)

    def here(self, place: Document) -> bool:
        if place.get("nodeName"):
            return bool(place["nodeName"] == self.node.name)
        if place.get("allNodes"):
            return True
        if "nodeSelector" not in place:
            return False
        return msgspec.convert(place["nodeSelector"], NodeSelector).matches(self.node.labels, self.node.name)

    def pool(self, id: tuple[str, str], relevant: list[Document]) -> Pool | None:
        generation = max(generation_of(item) for item in relevant)
        slices = [item for item in relevant if generation_of(item) == generation]
        slices.sort(key=lambda item: str(item["metadata"]["name"]))
        wanted = {item["spec"]["pool"]["resourceSliceCount"] for item in slices}
        whole = slices
        if wanted != {len(slices)}:
            everywhere = [item for item in self.world.slices if pool_id(item) == id]
            if any(generation_of(item) > generation for item in everywhere):
                return None
            whole = [item for item in everywhere if generation_of(item) == generation]
            if wanted != {len(whole)}:
                return Pool(id, "incomplete", [], [])
        state = "complete" if is_valid(slices, whole) else "invalid"
        of_devices = [item for item in slices if not item["spec"].get("sharedCounters")]
        return Pool(id, state, of_devices if state == "complete" else [], whole)

    # Requests

    def prepare(self, number: int, claim: Document) -> Iterator[list[Wish]]:
        spec = claim["spec"]["devices"]
        prepared = []
        for request in spec["requests"]:
            asked = request.get("firstAvailable") or [request["exactly"]]
            prepared.append([self.wish(number, claim, request, each) for each in asked])
        least = sum(min(wish.number for wish in wishes) for wishes in prepared)
        if least > 32:
            raise Broken(
                f"claim {key(claim)}: number of requested devices {least} exceeds the claim limit of 32"
            )
        for place, constraint in enumerate(spec.get("constraints", ())):
            if "matchAttribute" not in constraint and "distinctAttribute" not in constraint:
                raise Broken(
                    f"claim {key(claim)}, constraint #{place}: "
                    "empty constraint (unsupported constraint type?)"
                )
        yield from prepared

    def wish(self, number: int, claim: Document, request: Document, asked: Document) -> Wish:
        sub = asked.get("name") if "firstAvailable" in request else None
        wish = Wish(number, request["name"], sub, asked, asked.get("count", 1), None)
        where = f"claim {key(claim)}, request {wish.bare}"
        name = asked["deviceClassName"]
        if name not in self.world.classes:
            raise Broken(
                f"{where}: could not retrieve device class {name}: "
                f'deviceclass.resource.k8s.io "{name}" not found'
            )
        if asked.get("allocationMode") != "All":
            return wish
        found = []
        for pool in self.pools:
            if pool.state != "complete":
                problem = "being updated" if pool.state == "incomplete" else "invalid"
                raise Broken(
                    f"{where}: asks for all devices, but resource pool {'/'.join(pool.id)} "
                    f"is currently {problem}"
                )
            of_pool = [item for item in self.items if item.pool is pool]
            found += [item for item in of_pool if self.selected(wish, item) and self.fits(wish, item, [])]
        return wish._replace(number=len(found), all=found)

    def selected(self, wish: Wish, item: Item) -> bool:
        claim = self.claims[wish.claim]
        name = wish.asked["deviceClassName"]
        of_class = self.world.classes[name]["spec"].get("selectors", ())
        asked = [(f"class {name}: selector #{place}", each) for place, each in enumerate(of_class)]
        own = wish.asked.get("selectors", ())
        asked += [(f"claim {key(claim)}: selector #{place}", each) for place, each in enumerate(own)]
        for where, selector in asked:
            try:
                if not self.world.selectors[selector["cel"]["expression"]](item.pool.id[0], item.device):
                    return False
            except Broken as error:
                raise Broken(f"{where}: {error}") from None
        return not item.slice["spec"].get("perDeviceNodeSelection") or self.here(item.device)

    # The search

    def meet(self, at: int, picks: list[Pick], memory: Memory) -> list[Pick] | None:
        if at == len(self.wishes):
            return picks
        for wish in self.wishes[at]:
            solution = self.pick(at, wish, 0, 0, picks, memory)
            if solution is not None:
                return solution
        return None

    def pick(
        self, at: int, wish: Wish, place: int, start: int, picks: list[Pick], memory: Memory
    ) -> list[Pick] | None:
        if wish.all is not None and not wish.all:
            return None
        if place == wish.number:
            return self.meet(at + 1, picks, memory)
        if sum(1 for pick in picks if pick.wish.claim == wish.claim) + wish.number - place > 32:
            return None  # not quite as kube-scheduler gives up here, but it finds nothing either
        if wish.all is not None:
            item = wish.all[place]
            after = None
            if self.free(wish, item, picks):
                after = self.take(wish, item, picks, memory)
            return (
                None
                if after is None
                else self.pick(at, wish, place + 1, 0, [*picks, Pick(wish, item)], after)
            )
        for index, item in enumerate(self.items):
            if index < start or not self.free(wish, item, picks) or not self.selected(wish, item):
                continue
            if not self.fits(wish, item, picks):
                continue
            after = self.take(wish, item, picks, memory)
            if after is None:
                continue
            solution = self.pick(at, wish, place + 1, index + 1, [*picks, Pick(wish, item)], after)
            if solution is not None:
                return solution
            self.forget(wish, memory, self.applying(wish))
        return None

    def free(self, wish: Wish, item: Item, picks: list[Pick]) -> bool:
        takers = {pick.wish.claim for pick in picks if pick.item.id == item.id and not item.shared}
        if wish.admin:
            return wish.claim not in takers
        return not takers and item.id not in self.exclusive

    def take(self, wish: Wish, item: Item, picks: list[Pick], memory: Memory) -> Memory | None:
        """What the constraints remember if the device is taken, or None if it cannot be."""
        if not self.counted(item, picks) or not tolerated(item.device, wish.asked):
            return None
        after = {place: dict(values) for place, values in memory.items()}
        added: list[int] = []
        for place, constraint in self.applying(wish):
            if not self.constrained(wish, place, constraint, item, picks, after):
                self.forget(wish, memory, [(each, {}) for each in added])
                if wish.all is not None:
                    raise Broken(
                        f"claim {key(self.claims[wish.claim])}, request {wish.bare}: cannot add device "
                        f"{'/'.join(item.id)} because a claim constraint would not be satisfied"
                    )
                return None
            added.append(place)
        if not self.fits(wish, item, picks):
            self.forget(wish, memory, self.applying(wish))
            return None
        return after

    def applying(self, wish: Wish) -> list[tuple[int, Document]]:
        constraints = self.claims[wish.claim]["spec"]["devices"].get("constraints", ())
        return [
            (place, each)
            for place, each in enumerate(constraints)
            if not each.get("requests") or wish.request in each["requests"] or wish.name in each["requests"]
        ]

    def forget(self, wish: Wish, memory: Memory, constraints: list[tuple[int, Document]]) -> None:
        """The oddity: taking back a device forgets what its request had before, too."""
        for place, _ in constraints:
            memory.get((wish.claim, place), {}).pop(wish.request, None)

    def constrained(
        self, wish: Wish, place: int, constraint: Document, item: Item, picks: list[Pick], after: Memory
    ) -> bool:
        before = [
            pick
            for pick in picks
            if pick.wish.claim == wish.claim and place in [number for number, _ in self.applying(pick.wish)]
        ]
        if "matchAttribute" in constraint:
            name = constraint["matchAttribute"]
            value = attribute(item, name)
            return value is not None and (not before or value == attribute(before[0].item, name))
        value = attribute(item, constraint["distinctAttribute"])
        values = after.setdefault((wish.claim, place), {})
        if value is None or (before and value in values.values()):
            return False
        values[wish.request] = value
        return True

    def fits(self, wish: Wish, item: Item, picks: list[Pick]) -> bool:
        amounts = consumption(item.device, wish.asked)
        if amounts is None:
            return False
        for name, amount in amounts.items():
            total = amount + self.consumed.get(item.id, {}).get(name, Fraction(0))
            for pick in picks:
                if item.shared and pick.item.id == item.id:
                    total += (consumption(item.device, pick.wish.asked) or {})[name]
            if total > parse_quantity(item.device["capacity"][name]["value"]):
                return False
        return True

    def counted(self, item: Item, picks: list[Pick]) -> bool:
        if "consumesCounters" not in item.device:
            return True
        taken = [pick.item for pick in picks if pick.item.pool.id == item.pool.id]
        if item.shared and (item.id in self.consumed or item.id in [each.id for each in taken]):
            return True
        left: dict[tuple[str, str], Fraction] = {}
        for each in item.pool.whole:
            for counter_set in each["spec"].get("sharedCounters", ()):
                for name, counter in counter_set["counters"].items():
                    left[counter_set["name"], name] = parse_quantity(counter["value"])
        allocated = self.exclusive | self.sharing | self.consumed.keys()
        drawing = [each for each in devices(item.pool.whole) if (*item.pool.id, each["name"]) in allocated]
        # Within a search, who shares a device that had a share draws nothing.
        opened = {each.id: each for each in taken if each.shared and each.id not in self.consumed}
        drawing += [each.device for each in opened.values()]
        drawing += [each.device for each in taken if not each.shared]
        for device in [*drawing, item.device]:
            for drawn in device.get("consumesCounters", ()):
                for name, counter in drawn["counters"].items():
                    left[drawn["counterSet"], name] -= parse_quantity(counter["value"])
        return all(amount >= 0 for amount in left.values())


# Helpers


def key(claim: Document) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def pool_id(item: Document) -> tuple[str, str]:
    return item["spec"]["driver"], item["spec"]["pool"]["name"]


def generation_of(item: Document) -> int:
    return int(item["spec"]["pool"]["generation"])


def devices(slices: list[Document]) -> list[Document]:
    return [device for item in slices for device in item["spec"].get("devices", ())]


def is_valid(slices: list[Document], whole: list[Document]) -> bool:
    names = [device["name"] for device in devices(slices)]
    sets = [each for item in slices for each in item["spec"].get("sharedCounters", ())]
    by_name = {each["name"]: each["counters"] for each in sets}
    return (
        len(set(names)) == len(names)
        and len(by_name) == len(sets)
        and all(
            name in by_name.get(drawn["counterSet"], ())
            for device in devices(whole)
            for drawn in device.get("consumesCounters", ())
            for name in drawn["counters"]
        )
    )


def attribute(item: Item, name: str) -> Any:
    attributes = item.device.get("attributes", {})
    domain, _, bare = name.partition("/")
    if name in attributes:
        return tuple(attributes[name].items())
    if domain == item.pool.id[0] and bare in attributes:
        return tuple(attributes[bare].items())
    return None


def tolerated(device: Document, asked: Document) -> bool:
    for taint in device.get("taints", ()):
        if taint["effect"] in ("NoSchedule", "NoExecute") and not any(
            each.get("effect", taint["effect"]) == taint["effect"]
            and each.get("key", taint["key"]) == taint["key"]
            and (each["operator"] == "Exists" or each.get("value", "") == taint.get("value", ""))
            for each in asked.get("tolerations", ())
        ):
            return False
    return True


def consumption(device: Document, asked: Document) -> dict[str, Fraction] | None:
    requests = asked.get("capacity", {}).get("requests", {})
    capacities = device.get("capacity", {})
    if any(name not in capacities for name in requests):
        return None
    amounts = {}
    for name, capacity in capacities.items():
        policy = capacity.get("requestPolicy", {})
        limits = policy.get("validRange")
        valid = [parse_quantity(each) for each in policy.get("validValues", ())]
        if name not in requests:
            amounts[name] = parse_quantity(policy.get("default", capacity["value"]))
            continue
        amount = parse_quantity(requests[name])
        if limits is not None:
            least = parse_quantity(limits["min"])
            if amount < least:
                amount = least
            elif "step" in limits:
                step = ceil(parse_quantity(limits["step"]))
                steps = -(-(ceil(amount) - ceil(least)) // step)
                amount = Fraction(ceil(least) + steps * step)
            if "max" in limits and amount > parse_quantity(limits["max"]):
                return None
        elif valid:
            fitting = [each for each in valid if each >= amount]
            if not fitting:
                return None
            amount = fitting[0]
        amounts[name] = amount
    return amounts
