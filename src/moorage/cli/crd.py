"""`moorage crd`: the definitions of custom resources that are written as Python classes."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.completion import files
from moorage.cli.setup import BadInput, errors_in_lines, verbose_option, warn

if TYPE_CHECKING:
    from moorage.api.meta import Object


@click.command()
@click.argument("classes", nargs=-1, required=True, metavar="CLASS...", shell_complete=files)
@click.option(
    "--api-approved",
    default="",
    metavar="URL",
    help="The review that groups of the Kubernetes community (*.k8s.io, *.kubernetes.io) need.",
)
@verbose_option
def crd(classes: tuple[str, ...], api_approved: str, verbose: bool) -> None:
    """Print the CustomResourceDefinition that makes an API server serve the objects of a class.

    CLASS is file.py:Class or module:Class, a class that derives from `moorage.Object`; without the name of a
    class, all those of the file or module are printed. The schema comes from the types of the fields.

    \b
    Examples:
      moorage crd api.py:License | kubectl apply -f -
      moorage crd my_package.api > manifests/crd.yaml
      moorage crd api.py:Quota \\
        --api-approved https://github.com/kubernetes/kubernetes/pull/78458
    """
    with errors_in_lines(verbose):
        text = definitions(classes, api_approved)
    click.echo(text, nl=False)


def definitions(specs: tuple[str, ...], api_approved: str) -> str:
    """The definitions as one YAML text; warns of those that an API server would refuse."""
    from moorage.api.custom_resources.definitions import (
        APPROVAL,
        DefinitionError,
        custom_resource_definition,
        is_protected,
    )
    from moorage.config.show import to_yaml

    found: dict[str, str] = {}
    for spec in specs:
        for kind in find_kinds(spec):
            try:
                definition = custom_resource_definition(kind, api_approved=api_approved)
            except DefinitionError as error:
                raise BadInput(f"{spec.partition(':')[0]}: {error}") from None
            if refusal := next(_refusals(definition), None):
                raise BadInput(f"{spec.partition(':')[0]}: {kind.__qualname__}: {refusal}")
            metadata = definition["metadata"]
            name = metadata["name"]
            if name in found:
                raise BadInput(f"{spec}: {name} is there already; a resource can have one class only")
            found[name] = to_yaml(definition)
            if is_protected(kind.group) and "annotations" not in metadata:
                protected = f"{name}: the API server will refuse this: the group {kind.group} is protected"
                warn([f"{protected} and needs the annotation {APPROVAL}; give it with --api-approved URL"])
    return "---\n".join(found.values())


def _refusals(definition: dict[str, Any]) -> Iterator[str]:
    """Why an API server would not take the definition, in its words; an approval may still be missing."""
    from moorage.api.custom_resources.definitions import APPROVAL
    from moorage.cluster.custom.definitions import CrdStrategy

    document = deepcopy(definition)
    document["metadata"].setdefault("annotations", {APPROVAL: "unapproved, as long as there is none"})
    strategy = CrdStrategy()
    strategy.default(document)
    strategy.prepare_create(document)
    yield from map(str, strategy.validate(document))


def find_kinds(spec: str) -> list[type[Object]]:
    """The classes that `file.py:Class`, `module:Class`, or a file or module alone stands for."""
    from moorage.api.meta import Object
    from moorage.framework.loading.registry import import_from

    place, _, name = spec.partition(":")
    module = import_from(place)
    if name:
        kind = getattr(module, name, None)
        if not (isinstance(kind, type) and issubclass(kind, Object)):
            raise BadInput(f"{spec}: {name} is not a class in {place} that derives from moorage.Object")
        return [kind]
    kinds = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Object) and value.__module__ == module.__name__
    ]
    if not kinds:
        raise BadInput(f"{place}: holds no class that derives from moorage.Object")
    return list(dict.fromkeys(kinds))
