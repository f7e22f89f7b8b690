"""A cluster without its names: the scheduler would decide the same, and nobody can tell whose it was.

What a text is can be told by the field that it stands in. A text in a field that is not known here is
replaced like a name: what is new in Kubernetes does not get out by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moorage.api.in_tree_volumes import BETA_REGION, BETA_ZONE, REGION, ZONE, ZONE_DELIMITER
from moorage.api.storage import OLD_CLASS_ANNOTATION
from moorage.contrib.coscheduling.pod_groups import PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from moorage.plugins.storage.judging import SELECTED_NODE
from moorage.what_if.trace.kept import Document
from moorage.what_if.trace.other_words import OtherWords

_KEPT_TEXTS = frozenset(
    {
        *("apiVersion", "kind", "schedulerName", "preemptionPolicy", "phase", "type", "status", "reason"),
        *("effect", "operator", "protocol", "restartPolicy", "action", "disruptionMode"),
        *("whenUnsatisfiable", "nodeAffinityPolicy", "nodeTaintsPolicy", "declaredFeatures"),
        *("creationTimestamp", "deletionTimestamp", "startTime", "lastTransitionTime"),
        *("scheduleStartTime", "allocationTimestamp", "accessModes", "volumeMode", "volumeBindingMode"),
        *("maximumVolumeSize", "resource", "apiGroup", "allocationMode"),
        *("bindingConditions", "bindingFailureConditions"),
    }
)
_KEPT_WHOLE = frozenset(
    {
        # Devices are told apart by expressions, which can compute anything with what they are like.
        *("expression", "attributes", "matchAttribute", "distinctAttribute", "capacity", "consumedCapacity"),
        "counters",
    }
)
_ZONES = (ZONE, REGION, BETA_ZONE, BETA_REGION)
_BUILT_IN_VOLUMES = (
    *("gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "azureFile", "cinder", "vsphereVolume"),
    *("portworxVolume", "rbd", "iscsi"),
)
_KEPT_OWNERS = ("v1", "apps/v1", "batch/v1")


class Anonymizer:
    """Gives objects other names, labels and images; the same for the same, for as long as it has this key."""

    def __init__(self, key: bytes) -> None:
        words = self.words = OtherWords(key)
        self._claims: dict[tuple[str, str], str] = {}
        """Claims that are named after a pod and its volume, and so have to be from now on."""
        self._rules: dict[str, Callable[[Any], Any]] = {
            **dict.fromkeys(_KEPT_TEXTS, self._kept_text),
            **dict.fromkeys(_KEPT_WHOLE, lambda value: value),
            **dict.fromkeys(("key", "topologyKey"), words.key),
            **dict.fromkeys(("topologyKeys", "matchLabelKeys"), lambda keys: list(map(words.key, keys))),
            **dict.fromkeys(("labels", "matchLabels", "nodeSelector", "selector"), self._labels),
            **dict.fromkeys(
                ("limits", "allocatable", "allocatedResources", "overhead", "min", "max", "minResources"),
                self._resources,
            ),
            **dict.fromkeys(_BUILT_IN_VOLUMES, self._volume_source),
            "requests": self._requests,
            "request": self._request,
            "extendedResourceName": words.resource,
            "image": lambda value: words.image(value) if isinstance(value, str) else self._fields(value),
            "reference": words.image,
            "images": self._images,
            "annotations": self._annotations,
            "ownerReferences": lambda owners: list(map(self._owner, owners)),
            "volumeHandle": words.path,
            "hostIP": words.address,
            "disruptedPods": lambda pods: {words.word(name): time for name, time in pods.items()},
            "csi": self._csi,
            "drivers": lambda drivers: list(map(self._csi_node_driver, drivers)),
            **dict.fromkeys(("attacher", "provisioner"), words.driver),
        }

    def anonymized(self, document: Document) -> Document:
        """The object of `kept` in other words."""
        made = self._fields(document)
        match document["kind"]:
            case "PersistentVolumeClaim":
                made["metadata"]["name"] = self._claim_name(document["metadata"])
            case "PersistentVolume" if "claimRef" in made.get("spec", {}):
                named = document["spec"]["claimRef"]
                made["spec"]["claimRef"]["name"] = self._claim(
                    named.get("namespace", ""), named.get("name", "")
                )
            case "Pod":
                self._name_claims(document, made)
            case "CSIDriver":
                made["metadata"]["name"] = self.words.driver(document["metadata"]["name"])
            case "ResourceSlice" | "ResourceClaim":
                _keep_drivers(document, made)
        return made

    def forget(self, document: Document) -> None:
        """Of an object that is gone."""
        metadata = document["metadata"]
        self._claims.pop((metadata.get("namespace", ""), metadata["name"]), None)

    def _fields(self, fields: Mapping[str, Any]) -> Document:
        return {name: self._value(name, value) for name, value in fields.items()}

    def _value(self, name: str, value: Any) -> Any:
        rule = self._rules.get(name)
        return self._unknown(value) if rule is None else rule(value)

    def _unknown(self, value: Any) -> Any:
        if isinstance(value, dict):
            return self._fields(value)
        if isinstance(value, list):
            return [self._unknown(each) for each in value]
        return self.words.word(value) if isinstance(value, str) else value

    def _kept_text(self, value: Any) -> Any:
        """A text, or a list of them; a part of the object that has the same name is looked into."""
        return self._fields(value) if isinstance(value, dict) else value

    # Fields that are more than names

    def _labels(self, labels: Mapping[str, Any]) -> Document:
        """Labels, or a selector of another form."""
        if not all(isinstance(value, str) for value in labels.values()):
            return self._fields(labels)
        return {self.words.key(key): self._label_value(key, value) for key, value in labels.items()}

    def _label_value(self, key: str, value: str) -> str:
        if key in _ZONES and ZONE_DELIMITER in value:
            return ZONE_DELIMITER.join(map(self.words.word, value.split(ZONE_DELIMITER)))
        return self.words.word(value)

    def _resources(self, amounts: Mapping[str, Any]) -> Document:
        return {self.words.resource(name): amount for name, amount in amounts.items()}

    def _requests(self, value: Any) -> Any:
        """Amounts of resources, requests for devices, or the names of such requests."""
        if isinstance(value, dict):
            return self._resources(value)
        return [self._request(each) if isinstance(each, str) else self._fields(each) for each in value]

    def _request(self, name: str) -> str:
        return "/".join(map(self.words.word, name.split("/")))

    def _images(self, images: list[Document]) -> list[Document]:
        return [{**image, "names": list(map(self.words.image, image.get("names", ())))} for image in images]

    def _annotations(self, annotations: Mapping[str, str]) -> dict[str, str]:
        replaced = {
            **dict.fromkeys((SELECTED_NODE, OLD_CLASS_ANNOTATION), self.words.word),
            **dict.fromkeys((REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY), self.words.key),
        }
        return {key: replaced.get(key, str)(value) for key, value in annotations.items()}

    def _owner(self, owner: Document) -> Document:
        made = self._fields(owner)
        version = owner.get("apiVersion", "")
        if version not in _KEPT_OWNERS:
            made["apiVersion"] = "/".join(map(self.words.word, version.split("/")))
            made["kind"] = self.words.word(owner.get("kind", ""))
        return made

    def _volume_source(self, source: Mapping[str, Any]) -> Document:
        """Of a driver that once was built in; some parts of its ids mean something."""
        return {
            name: value if name in ("kind", "fsType", "cachingMode") else self._path(value)
            for name, value in source.items()
        }

    def _path(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._path(each) for each in value]
        if isinstance(value, dict):
            return {name: self._path(each) for name, each in value.items()}
        return self.words.path(value) if isinstance(value, str) else value

    def _csi(self, source: Document) -> Document:
        made = self._fields(source)
        if isinstance(source.get("driver"), str):
            made["driver"] = self.words.driver(source["driver"])
        return made

    def _csi_node_driver(self, driver: Document) -> Document:
        return {**self._fields(driver), "name": self.words.driver(driver.get("name", ""))}

    # Claims

    def _claim_name(self, metadata: Document) -> str:
        """The name of a claim; of one that was made for a pod, as the pod and its volume make it."""
        name: str = metadata["name"]
        owners = metadata.get("ownerReferences", ())
        pod = next(
            (each["name"] for each in owners if each.get("kind") == "Pod" and each.get("controller")), ""
        )
        if pod and name.startswith(f"{pod}-"):
            made = f"{self.words.word(pod)}-{self.words.word(name.removeprefix(f'{pod}-'))}"
            self._claims[metadata.get("namespace", ""), name] = made
        return self._claim(metadata.get("namespace", ""), name)

    def _claim(self, namespace: str, name: str) -> str:
        return self._claims.get((namespace, name)) or self.words.word(name)

    def _name_claims(self, document: Document, made: Document) -> None:
        namespace = document["metadata"].get("namespace", "")
        before, after = (each.get("spec", {}).get("volumes", ()) for each in (document, made))
        for volume, replaced in zip(before, after, strict=True):
            if "persistentVolumeClaim" in volume:
                name = volume["persistentVolumeClaim"].get("claimName", "")
                replaced["persistentVolumeClaim"]["claimName"] = self._claim(namespace, name)


def _keep_drivers(document: Any, made: Any) -> None:
    """Expressions name the drivers of devices."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name == "driver":
                made[name] = value
            elif name in made:
                _keep_drivers(value, made[name])
    elif isinstance(document, list):
        for before, after in zip(document, made, strict=True):
            _keep_drivers(before, after)
