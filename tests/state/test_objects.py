from __future__ import annotations

from moorage.api.decoding import from_document
from moorage.api.workloads import Namespace, Service
from moorage.state.objects import Objects


def service(name: str, namespace: str = "default") -> Service:
    return from_document(Service, {"metadata": {"name": name, "namespace": namespace}})


def test_objects_are_kept_by_kind_namespace_and_name() -> None:
    objects = Objects()
    services = objects.of(Service)
    assert objects.of(Service) is services
    first, second, other = service("a"), service("b"), service("a", "other")
    for item in (first, second, other):
        services.put(item)
    assert services.get("a", "default") is first
    assert services.get("a", "other") is other
    assert services.get("c", "default") is None
    assert list(services.list("default")) == [first, second]
    assert list(services.list()) == [first, second, other]
    assert (list(services.list("nowhere")), len(services)) == ([], 3)
    newer = service("a")
    services.put(newer)
    assert list(services.list("default")) == [newer, second]


def test_the_version_changes_with_every_change() -> None:
    services = Objects().of(Service)
    versions = [services.version]
    services.put(service("a"))
    versions.append(services.version)
    services.put(service("a"))
    versions.append(services.version)
    services.remove(service("a"))
    versions.append(services.version)
    assert len(set(versions)) == 4
    services.remove(service("a"))
    assert services.version == versions[-1], "it was gone already"
    assert (len(services), services._by_namespace) == (0, {})


def test_namespace_labels_of_an_unknown_namespace_are_empty() -> None:
    objects = Objects()
    assert objects.namespace_labels("dev") == {}
    objects.of(Namespace).put(from_document(Namespace, {"metadata": {"name": "dev", "labels": {"a": "b"}}}))
    assert objects.namespace_labels("dev") == {"a": "b"}
