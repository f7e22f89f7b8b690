"""Random clusters with devices, small enough for an allocator that leaves nothing out."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.plugins.devices.obvious import Broken, Selector, World

Document = dict[str, Any]

DRIVERS = ("a.example", "b.example")
NODES: tuple[Document, ...] = (
    {"metadata": {"name": "n1", "labels": {"zone": "a"}}},
    {"metadata": {"name": "n2", "labels": {"zone": "b"}}},
)
ATTRIBUTES = ("a.example/numa", "model.example/kind")
DEVICE_NAMES = (("d0", "d1", "d2", "d3"), ("e0", "e1", "e2", "e3"))


def _has_numa(driver: str, device: Document) -> bool:
    return "numa" in device.get("attributes", {})


def _numa_is_0(driver: str, device: Document) -> bool:
    if not _has_numa(driver, device):
        raise Broken("CEL runtime error: no such key: numa")
    return bool(device["attributes"]["numa"].get("int") == 0)


def _broken(driver: str, device: Document) -> bool:
    raise Broken("CEL compile error: it is broken")


SELECTORS: dict[str, Selector] = {
    "of_a": lambda driver, device: driver == DRIVERS[0],
    "not_d0": lambda driver, device: device["name"] != "d0",
    "has_numa": _has_numa,
    "numa_is_0": _numa_is_0,
    "broken": _broken,
}


def _optional(**choices: st.SearchStrategy[Any]) -> st.SearchStrategy[Document]:
    return st.fixed_dictionaries({}, optional=choices)


_values = st.sampled_from(
    [{"int": 0}, {"int": 1}, {"string": "0"}, {"bool": True}, {"version": "1.0.0"}, {"string": "1.0.0"}]
)
_attributes = _optional(**{"numa": _values, "a.example/numa": _values, "model.example/kind": _values})
_amounts = st.sampled_from(["0", "1", "2", "2500m", "3", "4", "5", "1Ki"])
_policies = st.one_of(
    st.builds(
        lambda least, span, step: {
            "default": str(least),
            "validRange": {"min": str(least), "max": str(least + span * step), "step": str(step)},
        },
        st.integers(0, 2),
        st.integers(0, 2),
        st.integers(1, 3),
    ),
    st.builds(
        lambda least, span: {
            "default": str(least),
            "validRange": {"min": str(least), "max": str(least + span)},
        },
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True).map(
        lambda values: {
            "default": str(min(values)),
            "validValues": [str(value) for value in sorted(values)],
        }
    ),
    st.just({"default": "1"}),
)


@st.composite
def _capacities(draw: st.DrawFn) -> Document:
    capacities: Document = {}
    for name in draw(st.lists(st.sampled_from(["memory", "a.example/lanes"]), unique=True, max_size=2)):
        capacities[name] = {"value": draw(st.sampled_from(["4", "5", "8", "2500m"]))}
        if draw(st.integers(0, 2)) == 0:
            capacities[name]["requestPolicy"] = draw(_policies)
    return capacities


_taints = st.lists(
    st.builds(
        lambda key, value, effect: {"key": key, "value": value, "effect": effect},
        st.sampled_from(["t", "u"]),
        st.sampled_from(["", "x"]),
        st.sampled_from(["NoSchedule", "NoExecute", "None"]),
    ),
    min_size=1,
    max_size=2,
)
_tolerations = st.lists(
    st.builds(
        lambda operator, rest: {"operator": operator, **rest},
        st.sampled_from(["Exists", "Equal"]),
        _optional(
            key=st.sampled_from(["t", "u"]),
            value=st.just("x"),
            effect=st.sampled_from(["NoSchedule", "NoExecute"]),
        ),
    ),
    min_size=1,
    max_size=2,
)
_places = st.one_of(
    st.sampled_from(["n1", "n1", "n1", "n1", "n2"]).map(lambda name: {"nodeName": name}),
    st.just({"allNodes": True}),
    st.sampled_from(["a", "b"]).map(
        lambda zone: {
            "nodeSelector": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
                ]
            }
        }
    ),
)


def rarely(draw: st.DrawFn, one_in: int = 4) -> bool:
    return draw(st.integers(1, one_in)) == one_in


@st.composite
def devices(
    draw: st.DrawFn, names: tuple[str, ...], counter_sets: tuple[str, ...], per_device: bool
) -> list[Document]:
    made = []
    for name in draw(st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=4)):
        device: Document = {"name": name}
        if rarely(draw, 2):
            device["attributes"] = draw(_attributes)
        if rarely(draw, 3):
            device["capacity"] = draw(_capacities())
        if rarely(draw, 3):
            device["allowMultipleAllocations"] = True
        if rarely(draw, 4):
            device["taints"] = draw(_taints)
        if rarely(draw, 8):
            device["bindingConditions"] = ["ready"]
        if counter_sets and rarely(draw, 2):
            drawn = draw(st.lists(st.sampled_from(["x", "y"]), unique=True, min_size=1, max_size=2))
            known = ("s", "t") if rarely(draw, 40) else counter_sets
            device["consumesCounters"] = [
                {
                    "counterSet": draw(st.sampled_from(known)),
                    "counters": {each: {"value": draw(st.sampled_from(["1", "2"]))} for each in drawn},
                }
            ]
        if per_device:
            device.update(draw(_places))
        made.append(device)
    return made


@st.composite
def slices(draw: st.DrawFn) -> list[Document]:
    made: list[Document] = []
    for driver in DRIVERS[: draw(st.integers(1, 2))]:
        for pool in ("p", "q")[: draw(st.integers(1, 2))]:
            made += draw(_slices_of_pool(driver, pool))
    names = draw(st.permutations([f"slice-{number}" for number in range(len(made))]))
    for item, name in zip(made, names, strict=True):
        item["metadata"] = {"name": name}
    return made


@st.composite
def _slices_of_pool(draw: st.DrawFn, driver: str, pool: str) -> list[Document]:
    generations = draw(st.sampled_from([(1,), (1,), (1,), (1, 2)]))
    counter_sets = draw(st.sampled_from([(), (), ("s",), ("s", "t")]))
    made: list[Document] = []
    for generation in generations:
        specs: list[Document] = []
        place = draw(_places)
        for names in DEVICE_NAMES[: draw(st.integers(1, 2))]:
            per_device = rarely(draw, 6)
            names = DEVICE_NAMES[0] if rarely(draw, 12) else names
            spec: Document = {"devices": draw(devices(names, counter_sets, per_device))}
            if per_device:
                specs.append({**spec, "perDeviceNodeSelection": True})
            else:
                specs.append({**spec, **(draw(_places) if rarely(draw) else place)})
        if counter_sets:
            sets = [
                {
                    "name": name,
                    "counters": {each: {"value": draw(st.sampled_from(["1", "2", "4"]))} for each in "xy"},
                }
                for name in (*counter_sets, *(("s",) if rarely(draw, 20) else ()))
            ]
            specs.append({"sharedCounters": sets, **draw(_places)})
        count = len(specs) + rarely(draw, 12)
        for spec in specs:
            spec.update(
                driver=driver, pool={"name": pool, "generation": generation, "resourceSliceCount": count}
            )
            made.append({"spec": spec})
    return made


@st.composite
def asked(draw: st.DrawFn, sub: bool, all_too: bool) -> Document:
    names = st.sampled_from(["has_numa", "has_numa", "of_a", "not_d0", "not_d0", "numa_is_0", "broken"])
    made: Document = {
        "deviceClassName": draw(st.sampled_from(["any", "any", "any", "any", "plain-a", "numa", "odd"]))
    }
    if rarely(draw, 5):
        made["selectors"] = [{"cel": {"expression": each}} for each in draw(st.lists(names, max_size=2))]
    if all_too and rarely(draw, 5):
        made["allocationMode"] = "All"
    else:
        made["count"] = draw(st.sampled_from([1, 1, 1, 2, 2, 3]))
    if rarely(draw, 4):
        made["tolerations"] = draw(_tolerations)
    if rarely(draw, 4):
        capacities = st.sampled_from(["memory", "a.example/lanes"])
        made["capacity"] = {"requests": draw(st.dictionaries(capacities, _amounts, max_size=2))}
    if not sub and rarely(draw, 6):
        made["adminAccess"] = True
    return made


@st.composite
def claims(draw: st.DrawFn, most: int = 2, all_too: bool = True) -> list[Document]:
    made = []
    for number in range(draw(st.integers(1, most))):
        requests: list[Document] = []
        for name in ("r", "s", "t")[: draw(st.sampled_from([1, 1, 2, 2, 3]))]:
            if rarely(draw):
                subs = [draw(asked(True, all_too)) for _ in range(draw(st.integers(1, 3)))]
                requests.append(
                    {
                        "name": name,
                        "firstAvailable": [{**each, "name": f"{i}"} for i, each in enumerate(subs)],
                    }
                )
            else:
                requests.append({"name": name, "exactly": draw(asked(False, all_too))})
        known = [each["name"] for each in requests] + [
            f"{each['name']}/{sub['name']}" for each in requests for sub in each.get("firstAvailable", ())
        ]
        constraints = [
            {
                draw(st.sampled_from(["matchAttribute", "distinctAttribute"])): draw(
                    st.sampled_from(ATTRIBUTES)
                ),
                "requests": draw(st.lists(st.sampled_from(known), unique=True, max_size=2)),
            }
            for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2])))
        ]
        made.append(
            {
                "metadata": {"namespace": "default", "name": f"c{number}", "uid": f"uid-{number}"},
                "spec": {"devices": {"requests": requests, "constraints": constraints}},
            }
        )
    return made


@st.composite
def holders(draw: st.DrawFn, offered: list[Document]) -> list[Document]:
    """Claims that have devices, some of which are not offered like that any more."""
    made = []
    all_devices = [(item["spec"], device) for item in offered for device in item["spec"].get("devices", ())]
    if not all_devices:
        return []
    for number in range(draw(st.integers(0, 3))):
        spec, device = draw(st.sampled_from(all_devices))
        result: Document = {
            "request": "r",
            "driver": spec["driver"],
            "pool": spec["pool"]["name"],
            "device": device["name"],
        }
        if rarely(draw, 6):
            result["adminAccess"] = True
        if bool(device.get("allowMultipleAllocations")) != rarely(draw, 10):
            result["shareID"] = f"share-{number}"
            if rarely(draw, 2) and device.get("capacity"):
                result["consumedCapacity"] = {name: draw(_amounts) for name in device["capacity"]}
        made.append(
            {
                "metadata": {"namespace": "other", "name": f"h{number}", "uid": f"held-{number}"},
                "spec": {"devices": {"requests": []}},
                "status": {"allocation": {"devices": {"results": [result]}}},
            }
        )
    return made


def classes() -> dict[str, Document]:
    def of(name: str, *expressions: str) -> Document:
        selectors = [{"cel": {"expression": each}} for each in expressions]
        return {"metadata": {"name": name}, "spec": {"selectors": selectors}}

    return {
        each["metadata"]["name"]: each
        for each in (of("any"), of("plain-a", "of_a"), of("numa", "has_numa"), of("odd", "numa_is_0"))
    }


@st.composite
def worlds(draw: st.DrawFn) -> World:
    offered = draw(slices())
    return World(offered, classes(), draw(holders(offered)), SELECTORS)
