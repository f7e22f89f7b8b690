from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceSlice
from moorage.api.simulated_devices import MOST_COUNTED, NODE_NAME, SimulatedDevices, counted, is_template


def offered(name: str, **spec: Any) -> dict[str, Any]:
    return {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}


def names(documents: list[dict[str, Any]]) -> list[str]:
    return [each["metadata"]["name"] for each in documents]


@given(st.integers(1, MOST_COUNTED))
def test_so_many_devices_on_every_node(count: int) -> None:
    devices = counted("gpu", count)
    [device_class] = (from_document(DeviceClass, each) for each in devices.classes)
    assert device_class.name == "gpu"
    [selector] = device_class.spec.selectors
    assert selector.cel is not None
    assert selector.cel.expression == 'device.driver == "gpu.example.com"'
    assert devices.of_no_node() == []
    [made] = (from_document(ResourceSlice, each) for each in devices.of_node("node-7"))
    assert made.name == "node-7-gpu.example.com"
    assert (made.spec.driver, made.spec.node_name) == ("gpu.example.com", "node-7")
    assert (made.spec.pool.name, made.spec.pool.resource_slice_count) == ("node-7", 1)
    assert [each.name for each in made.spec.devices] == [f"gpu-{index}" for index in range(count)]
    assert [each.attributes["index"].int_value for each in made.spec.devices] == [*range(count)]
    numa = [each.attributes["numa"].int_value for each in made.spec.devices]
    assert numa == [0] * ((count + 1) // 2) + [1] * (count // 2)
    assert {each.attributes["model"].string_value for each in made.spec.devices} == {"example-gpu"}


def test_a_slice_is_of_every_node_or_of_one_or_of_none() -> None:
    template = offered(f"{NODE_NAME}-a", nodeName=NODE_NAME, pool={"name": f"at-{NODE_NAME}"})
    by_device = offered(
        f"b.{NODE_NAME}", perDeviceNodeSelection=True, devices=[{"name": "d", "nodeName": NODE_NAME}]
    )
    fixed, shared = offered("fixed", nodeName="n1"), offered("shared", allNodes=True)
    devices = SimulatedDevices([], [template, fixed, shared, by_device])
    assert [is_template(each) for each in devices.slices] == [True, False, False, True]
    assert names(devices.of_node("n1")) == ["n1-a", "b.n1", "fixed"]
    assert names(devices.of_node("n2")) == ["n2-a", "b.n2"]
    assert names(devices.of_no_node()) == ["shared"]
    [first, second] = devices.of_node("n2")
    assert first["spec"] == {"nodeName": "n2", "pool": {"name": "at-n2"}}
    assert second["spec"]["devices"] == [{"name": "d", "nodeName": "n2"}]


def test_what_is_given_out_is_nobody_elses() -> None:
    devices = SimulatedDevices([], [offered("fixed", nodeName="n"), offered("shared", allNodes=True)])
    devices.of_node("n")[0]["spec"]["changed"] = True
    assert "changed" not in devices.of_node("n")[0]["spec"]
    devices.of_no_node()[0]["spec"]["changed"] = True
    assert "changed" not in devices.of_no_node()[0]["spec"]


def test_several_together() -> None:
    both = SimulatedDevices.together([counted("gpu", 2), counted("nic", 1)])
    assert names([*both.classes]) == ["gpu", "nic"]
    assert names(both.of_node("n")) == ["n-gpu.example.com", "n-nic.example.com"]
    assert SimulatedDevices.together([]).of_node("n") == []
