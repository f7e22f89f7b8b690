"""Devices that nodes offer and pods claim: the kinds of `resource.k8s.io` that a scheduler reads."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from moorage.api.meta import Int64, Object, Part, Quantity
from moorage.api.pods import Fields
from moorage.api.selectors import NodeSelector
from moorage.api.taints import Taint, Toleration

FINALIZER = "resource.kubernetes.io/delete-protection"
"""What keeps a claim that has devices from vanishing."""
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""The annotation of claims that a scheduler made for extended resources."""
DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
"""With a class after it, the extended resource that every class stands for."""

EXACT_COUNT = "ExactCount"
ALL = "All"


# What is offered


class ResourcePool(Part, frozen=True, gc=False):
    name: str = ""
    generation: Int64 = 0
    """Of the slices of a pool, only those of the highest generation count."""
    resource_slice_count: Int64 = 0
    """How many slices of this generation there are, once all are published."""


class Counter(Part, frozen=True, gc=False):
    value: Quantity = 0


class CounterSet(Part, frozen=True, gc=False):
    """Amounts that several devices of a pool draw on."""

    name: str = ""
    counters: dict[str, Counter] = {}


class DeviceCounterConsumption(Part, frozen=True, gc=False):
    counter_set: str = ""
    counters: dict[str, Counter] = {}


class DeviceAttribute(Part, frozen=True, gc=False):
    """A value of one of several types: only one of the fields is set."""

    int_value: Int64 | None = msgspec.field(name="int", default=None)
    bool_value: bool | None = msgspec.field(name="bool", default=None)
    string_value: str | None = msgspec.field(name="string", default=None)
    version_value: str | None = msgspec.field(name="version", default=None)
    int_values: tuple[Int64, ...] | None = msgspec.field(name="ints", default=None)
    bool_values: tuple[bool, ...] | None = msgspec.field(name="bools", default=None)
    string_values: tuple[str, ...] | None = msgspec.field(name="strings", default=None)
    version_values: tuple[str, ...] | None = msgspec.field(name="versions", default=None)


class CapacityRange(Part, frozen=True, gc=False):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Part, frozen=True, gc=False):
    """How much of a capacity may be asked for; what does not fit is rounded up."""

    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Part, frozen=True, gc=False):
    value: Quantity = 0
    request_policy: CapacityRequestPolicy | None = None


class Device(Part, frozen=True, gc=False):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[DeviceCounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[Taint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourceSliceSpec(Fields):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    """Whether the devices say themselves which nodes can use them."""
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()


class ResourceSlice(Object, kw_only=True):
    group: ClassVar[str] = "resource.k8s.io"
    kind: ClassVar[str] = "ResourceSlice"
    resource: ClassVar[str] = "resourceslices"
    namespaced: ClassVar[bool] = False

    spec: ResourceSliceSpec = msgspec.field(default_factory=ResourceSliceSpec)


# What is asked for


class CELSelector(Part, frozen=True, gc=False):
    expression: str = ""


class DeviceSelector(Part, frozen=True, gc=False):
    cel: CELSelector | None = None


class DeviceConfiguration(Part, frozen=True, gc=False):
    """For the driver alone."""

    opaque: dict[str, Any] | None = None


class DeviceClassSpec(Fields):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    extended_resource_name: str | None = None


class DeviceClass(Object, kw_only=True):
    group: ClassVar[str] = "resource.k8s.io"
    kind: ClassVar[str] = "DeviceClass"
    resource: ClassVar[str] = "deviceclasses"
    namespaced: ClassVar[bool] = False

    spec: DeviceClassSpec = msgspec.field(default_factory=DeviceClassSpec)


class CapacityRequirements(Part, frozen=True, gc=False):
    requests: dict[str, Quantity] = {}


class ExactDeviceRequest(Part, frozen=True, gc=False):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: Int64 = 1
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None
    admin_access: bool = False


class DeviceSubRequest(Part, frozen=True, gc=False):
    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: str = EXACT_COUNT
    count: Int64 = 1
    tolerations: tuple[Toleration, ...] = ()
    capacity: CapacityRequirements | None = None


class DeviceRequest(Part, frozen=True, gc=False):
    """Either exactly this, or the first of several that can be had."""

    name: str = ""
    exactly: ExactDeviceRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] = ()


class DeviceConstraint(Part, frozen=True, gc=False):
    requests: tuple[str, ...] = ()
    """Names of requests, or of sub-requests as `request/sub-request`; empty for all."""
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaimConfiguration(Part, frozen=True, gc=False):
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceClaim(Fields):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[DeviceClaimConfiguration, ...] = ()


class ResourceClaimSpec(Fields):
    devices: DeviceClaim = msgspec.field(default_factory=DeviceClaim)


# What was given


class DeviceResult(Part, frozen=True, gc=False):
    """One device for one request."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str | None = msgspec.field(name="shareID", default=None)
    """Set if the device is shared with others."""
    consumed_capacity: dict[str, Quantity] = {}


class AllocatedConfiguration(Part, frozen=True, gc=False):
    source: str = ""
    """`FromClass` or `FromClaim`"""
    requests: tuple[str, ...] = ()
    opaque: dict[str, Any] | None = None


class DeviceAllocationResult(Part, frozen=True, gc=False):
    results: tuple[DeviceResult, ...] = ()
    config: tuple[AllocatedConfiguration, ...] = ()


class AllocationResult(Part, frozen=True, gc=False):
    devices: DeviceAllocationResult = DeviceAllocationResult()
    node_selector: NodeSelector | None = None
    """The nodes that can use all of the devices; None for every node."""
    allocation_timestamp: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """As `status.allocation` is written to the API."""
        return {"devices": {}, **msgspec.json.decode(msgspec.json.encode(self))}


class ConsumerReference(Part, frozen=True, gc=False):
    """Who uses a claim: mostly a pod."""

    api_group: str = ""
    resource: str = ""
    name: str = ""
    uid: str = ""


class DeviceCondition(Part, frozen=True, gc=False):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Part, frozen=True, gc=False):
    """What a driver says about a device it was asked to prepare."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str | None = msgspec.field(name="shareID", default=None)
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Fields):
    allocation: AllocationResult | None = None
    reserved_for: tuple[ConsumerReference, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object, kw_only=True):
    group: ClassVar[str] = "resource.k8s.io"
    kind: ClassVar[str] = "ResourceClaim"
    resource: ClassVar[str] = "resourceclaims"

    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = msgspec.field(default_factory=ResourceClaimStatus)


class ResourceClaimTemplateSpec(Fields):
    spec: ResourceClaimSpec = msgspec.field(default_factory=ResourceClaimSpec)


class ResourceClaimTemplate(Object, kw_only=True):
    """What a controller makes the claims of pods of; no scheduler looks at it."""

    group: ClassVar[str] = "resource.k8s.io"
    kind: ClassVar[str] = "ResourceClaimTemplate"
    resource: ClassVar[str] = "resourceclaimtemplates"

    spec: ResourceClaimTemplateSpec = msgspec.field(default_factory=ResourceClaimTemplateSpec)
