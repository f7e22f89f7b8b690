"""Small clusters with devices, and the plugin in them."""

from __future__ import annotations

from typing import Any

from moorage.api.decoding import from_document
from moorage.api.devices import DeviceClass, ResourceClaim, ResourceSlice
from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.plugins.catalog import in_tree_registry
from moorage.plugins.devices.dynamic_resources import DynamicResources
from moorage.testing import make_node, make_pod
from moorage.what_if.device_outcomes import devices_plugin
from moorage.what_if.scenario import Scenario
from tests.plugins.devices import device_objects

Document = dict[str, Any]


def slices(node: str, devices: int = 2) -> ResourceSlice:
    names = [f"gpu-{number}" for number in range(devices)]
    document = device_objects.resource_slice(f"{node}-gpus", names, pool=node, nodeName=node)
    return from_document(ResourceSlice, document)


def gpu_class(name: str = "gpu", **fields: Any) -> DeviceClass:
    return from_document(
        DeviceClass, device_objects.device_class(name, 'device.driver == "gpu.example.com"', **fields)
    )


def claim(name: str, *requests: Document, **fields: Any) -> ResourceClaim:
    document = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"uid-of-{name}",
            "resourceVersion": "1",
            **fields.pop("metadata", {}),
        },
        "spec": {"devices": {"requests": list(requests) or [device_objects.exactly()]}},
        **fields,
    }
    return from_document(ResourceClaim, document)


def allocation(node: str, device: str = "gpu-0", **result: Any) -> Document:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {
        "devices": {
            "results": [
                {"request": "r", "driver": "gpu.example.com", "pool": node, "device": device, **result}
            ]
        },
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def claiming(name: str, *claims: str, **fields: Any) -> Pod:
    named = [{"name": f"c{place}", "resourceClaimName": each} for place, each in enumerate(claims)]
    return make_pod(name, resourceClaims=named, **fields)


def world(*objects: Object, nodes: int = 2, devices: int = 2) -> tuple[Scenario, DynamicResources]:
    """Nodes n1 and so on with devices, a class `gpu`, and whatever else there is."""
    names = [f"n{number}" for number in range(1, nodes + 1)]
    known = [gpu_class(), *map(make_node, names), *(slices(name, devices) for name in names), *objects]
    scenario = Scenario(known, in_tree_registry())
    plugin = devices_plugin(scenario.profile)
    assert plugin is not None
    return scenario, plugin
