"""What all workloads do alike."""

from __future__ import annotations

from moorage.cluster.base.errors import invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import WithStatus, own_part, part
from moorage.cluster.kinds.pod_templates import default_template, prepare_template
from moorage.cluster.kinds.pods_warnings import pod_warnings
from moorage.cluster.kinds.rules import IMMUTABLE, Found, shown_selector


class Workload(WithStatus):
    """What all workloads with a template at `spec.template` do alike."""

    counts_generations = True

    def default(self, document: Document) -> None:
        spec = own_part(document, "spec")
        default_template(own_part(spec, "template"))
        self.default_spec(spec)

    def default_spec(self, spec: Document) -> None:
        """Completes everything but the template."""

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        prepare_template(document["spec"]["template"])

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        prepare_template(new["spec"]["template"])

    def warnings(self, document: Document) -> list[str]:
        return pod_warnings(document["spec"]["template"], "spec.template")

    def update_warnings(self, new: Document, old: Document) -> list[str]:
        return self.warnings(new) if self.is_new_generation(new, old) else []


def check_same_selector(new: Document, old: Document, found: Found) -> None:
    selector = part(new, "spec").get("selector")
    if selector != part(old, "spec").get("selector"):
        found.append(invalid_value("spec.selector", shown_selector(selector), IMMUTABLE))
