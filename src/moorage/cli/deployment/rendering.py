"""All objects as one stream of YAML documents."""

from __future__ import annotations

from typing import Any

import yaml

from moorage.api.custom_resources.definitions import custom_resource_definition
from moorage.cli.deployment.access import access
from moorage.cli.deployment.planning import Wishes, make_plan
from moorage.cli.deployment.workload import (
    config_map,
    deployment,
    disruption_budget,
    service,
    service_monitor,
)
from moorage.cli.setup import warn
from moorage.config.show import quote_what_go_reads_otherwise


def render(wishes: Wishes) -> str:
    """The text that `kubectl apply -f -` takes; the same wishes always give the same text."""
    plan = make_plan(wishes)
    warn(plan.warnings)
    definitions = [custom_resource_definition(kind) for kind in plan.kinds]
    objects = [*definitions, *access(plan), config_map(plan), deployment(plan)]
    if not plan.is_shadow:
        objects.append(disruption_budget(plan))
    if wishes.metrics_service or wishes.service_monitor:
        objects.append(service(plan))
    if wishes.service_monitor:
        objects.append(service_monitor(plan))
    text: str = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return text


class _Dumper(yaml.SafeDumper):
    """Files in a ConfigMap stay readable: text of several lines is written as it is."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)
quote_what_go_reads_otherwise(_Dumper)
