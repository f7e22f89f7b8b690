"""What makes pods, and what protects them."""

from __future__ import annotations

from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.serving.tables.columns import (
    AGE,
    INTEGER,
    NAME,
    Column,
    Columns,
    age_of,
    integers,
    name_of,
    texts_of,
    wide,
)
from moorage.cluster.serving.tables.formatting import (
    NONE,
    container_names_and_images,
    int_or_string,
    labels,
    selector,
)
from moorage.cluster.serving.tables.parts import flag, number, part, records, text

_TEMPLATE = ("spec", "template", "spec")
_CONTAINERS = wide("Containers", "Images")
_SELECTOR = wide("Selector")


def _replicas(controller: Document, now: float) -> list[Any]:
    return [
        name_of(controller),
        number(controller, "spec", "replicas"),
        number(controller, "status", "replicas"),
        number(controller, "status", "readyReplicas"),
        age_of(controller, now),
        *container_names_and_images(controller, *_TEMPLATE),
    ]


def _replication_controller(controller: Document, now: float) -> list[Any]:
    return [*_replicas(controller, now), labels(controller, "spec", "selector")]


def _replica_set(replica_set: Document, now: float) -> list[Any]:
    return [*_replicas(replica_set, now), selector(replica_set, "spec", "selector") or NONE]


def _ready_of_wanted(controller: Document) -> str:
    return f"{number(controller, 'status', 'readyReplicas')}/{number(controller, 'spec', 'replicas')}"


def _deployment(deployment: Document, now: float) -> list[Any]:
    return [
        name_of(deployment),
        _ready_of_wanted(deployment),
        number(deployment, "status", "updatedReplicas"),
        number(deployment, "status", "availableReplicas"),
        age_of(deployment, now),
        *container_names_and_images(deployment, *_TEMPLATE),
        selector(deployment, "spec", "selector"),
    ]


def _stateful_set(stateful_set: Document, now: float) -> list[Any]:
    return [
        name_of(stateful_set),
        _ready_of_wanted(stateful_set),
        age_of(stateful_set, now),
        *container_names_and_images(stateful_set, *_TEMPLATE),
    ]


def _daemon_set(daemon_set: Document, now: float) -> list[Any]:
    status = part(daemon_set, "status")
    return [
        name_of(daemon_set),
        number(status, "desiredNumberScheduled"),
        number(status, "currentNumberScheduled"),
        number(status, "numberReady"),
        number(status, "updatedNumberScheduled"),
        number(status, "numberAvailable"),
        labels(daemon_set, *_TEMPLATE, "nodeSelector"),
        age_of(daemon_set, now),
        *container_names_and_images(daemon_set, *_TEMPLATE),
        selector(daemon_set, "spec", "selector") or NONE,
    ]


def _controller_revision(revision: Document, now: float) -> list[Any]:
    owner = NONE
    for reference in records(revision, "metadata", "ownerReferences"):
        if flag(reference, "controller"):
            group, slash, _ = text(reference, "apiVersion").rpartition("/")
            kind = text(reference, "kind").lower()
            owner = f"{kind}.{group.lower()}" if slash else kind
            owner = f"{owner}/{text(reference, 'name')}"
            break
    return [name_of(revision), owner, number(revision, "revision"), age_of(revision, now)]


def _disruption_budget(budget: Document, now: float) -> list[Any]:
    return [
        name_of(budget),
        int_or_string(budget, "spec", "minAvailable") or "N/A",
        int_or_string(budget, "spec", "maxUnavailable") or "N/A",
        number(budget, "status", "disruptionsAllowed"),
        age_of(budget, now),
    ]


def _scale(scale: Document, now: float) -> list[Any]:
    return [
        name_of(scale),
        number(scale, "spec", "replicas"),
        number(scale, "status", "replicas"),
        age_of(scale, now),
    ]


_COUNTED = (NAME, *integers("Desired", "Current", "Ready"), AGE, *_CONTAINERS, *_SELECTOR)

REPLICATION_CONTROLLERS = Columns(_COUNTED, _replication_controller)
REPLICA_SETS = Columns(_COUNTED, _replica_set)
DEPLOYMENTS = Columns(
    (NAME, *texts_of("Ready", "Up-to-date", "Available"), AGE, *_CONTAINERS, *_SELECTOR), _deployment
)
STATEFUL_SETS = Columns((NAME, Column("Ready"), AGE, *_CONTAINERS), _stateful_set)
DAEMON_SETS = Columns(
    (
        NAME,
        *integers("Desired", "Current", "Ready", "Up-to-date", "Available"),
        Column("Node Selector"),
        AGE,
        *_CONTAINERS,
        *_SELECTOR,
    ),
    _daemon_set,
)
CONTROLLER_REVISIONS = Columns((NAME, *texts_of("Controller", "Revision"), AGE), _controller_revision)
DISRUPTION_BUDGETS = Columns(
    (NAME, *texts_of("Min Available", "Max Unavailable"), Column("Allowed Disruptions", INTEGER), AGE),
    _disruption_budget,
)
SCALES = Columns((NAME, *integers("Desired", "Available"), AGE), _scale)
