"""Metrics as text, in the form and order of the Go client.

prometheus_client would write whole numbers as `1.0`, labels in the order of their declaration, and a series
`_created` per counter and histogram, which kube-scheduler does not have.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from prometheus_client import CollectorRegistry, Metric

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_TYPES = {"info": "gauge", "stateset": "gauge", "gaugehistogram": "histogram", "unknown": "untyped"}
_SUFFIXES = {"counter": "_total", "info": "_info"}
_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})


def render(registries: Iterable[CollectorRegistry]) -> str:
    """All metrics of these registries; one without a value yet is named with its type."""
    families = [family for registry in registries for family in registry.collect()]
    families.sort(key=lambda family: family.name)
    lines: list[str] = []
    for family in families:
        lines += family_lines(family)
    return "".join(lines)


def family_lines(family: Metric) -> list[str]:
    samples = [sample for sample in family.samples if not sample.name.endswith("_created")]
    lines = header(family.name + _SUFFIXES.get(family.type, ""), family.type, family.documentation)
    lines += [sample_line(sample.name, sample.labels, sample.value) for sample in samples]
    return lines


def header(name: str, type: str, help: str) -> list[str]:
    return [
        f"# HELP {name} {help.translate(_HELP_ESCAPES)}\n",
        f"# TYPE {name} {_TYPES.get(type, type)}\n",
    ]


def sample_line(name: str, labels: Mapping[str, str], value: float) -> str:
    if not labels:
        return f"{name} {number(value)}\n"
    names = sorted(labels, key=_le_last)
    pairs = ",".join([f'{label}="{escaped(labels[label])}"' for label in names])
    return f"{name}{{{pairs}}} {number(value)}\n"


def _le_last(label: str) -> tuple[bool, str]:
    return label == "le", label


def escaped(text: str) -> str:
    return text.translate(_ESCAPES) if '"' in text or "\\" in text or "\n" in text else text


def number(value: float) -> str:
    """Whole numbers without a fraction; what is not finite as `+Inf`, `-Inf` and `NaN`."""
    if isinstance(value, int):
        return str(value)
    if math.isfinite(value):
        return repr(float(value)).removesuffix(".0")
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
