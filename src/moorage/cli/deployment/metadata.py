"""Names and labels of the objects."""

from __future__ import annotations

from typing import Any

from moorage.cli.deployment.planning import Plan


def metadata(plan: Plan, name: str | None = None, namespace: str | None = None) -> dict[str, Any]:
    """Metadata of an object; without a namespace of its own it is in the scheduler's, with "" in none."""
    where = plan.namespace if namespace is None else namespace
    return {
        "name": name or plan.name,
        **({"namespace": where} if where else {}),
        "labels": labels(plan),
    }


def labels(plan: Plan) -> dict[str, str]:
    return {
        **selector(plan),
        "app.kubernetes.io/component": "shadow" if plan.is_shadow else "scheduler",
        "app.kubernetes.io/name": "moorage",
    }


def selector(plan: Plan) -> dict[str, str]:
    """What tells the pods of this scheduler from those of others."""
    return {"app": plan.name}
