"""The tests of the suite that are not run."""

from __future__ import annotations

_POD_GROUPS = (
    "needs the alpha API of pod groups (feature gate GenericWorkload), which is off by default"
    " and not served by the embedded cluster"
)

LEFT_OUT = {
    "[sig-scheduling] Workload [FeatureGate:GenericWorkload] [Alpha] [Feature:OffByDefault] CRUD Tests"
    " PodGroup API availability": _POD_GROUPS,
    "[sig-scheduling] Workload [FeatureGate:GenericWorkload] [Alpha] [Feature:OffByDefault] CRUD Tests"
    " Workload API availability": _POD_GROUPS,
}
"""Why, by the full name of the test."""
