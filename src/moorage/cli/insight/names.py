"""How pods are named on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from moorage.cli.setup import BadInput
from moorage.cli.terminal.printable import printable


def pod_key(given: str, namespace: str) -> str:
    """`NAMESPACE/NAME` of NAME, pod/NAME or NAMESPACE/NAME."""
    parts = given.split("/")
    if parts[0] in ("pod", "pods", "po") and len(parts) > 1:
        parts = parts[1:]
    if len(parts) > 2 or not all(parts):
        raise BadInput(f"'{printable(given)}' is no pod; write NAME, pod/NAME or NAMESPACE/NAME")
    if len(parts) == 1:
        return f"{namespace or 'default'}/{parts[0]}"
    if namespace and namespace != parts[0]:
        raise BadInput(f"'{printable(given)}' is in another namespace than --namespace {namespace}; give one")
    return "/".join(parts)


def near_names(key: str, known: Sequence[str]) -> str:
    """What to add to a message about a pod that nobody knows: names like it, or where the name is."""
    namespace, _, name = key.partition("/")
    same_name = [each for each in known if each.partition("/")[2] == name]
    here = [each for each in known if each.partition("/")[0] == namespace]
    begins = [each for each in here if each.partition("/")[2].startswith(name)]
    names = {each.partition("/")[2]: each for each in (*known, *here)}
    like = [names[each] for each in difflib.get_close_matches(name, names, 3, cutoff=0.6)]
    near = [*dict.fromkeys((*same_name, *begins, *like))][:3]
    if near:
        return f"; did you mean {' or '.join(map(printable, near))}?"
    if here:
        return f"; there are {', '.join(map(printable, here[:3]))}{' and others' if len(here) > 3 else ''}"
    return f"; namespace {printable(namespace)} has none"
