"""A drain as a script for a shell: the kubectl commands in order, each waiting for what it needs."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator

from moorage.api.pods import Pod
from moorage.what_if.capacity.copies import controller_of
from moorage.what_if.capacity.moves import Move, Plan
from moorage.what_if.capacity.world import Given

_READY = {
    "ReplicaSet": "readyReplicas",
    "StatefulSet": "readyReplicas",
    "ReplicationController": "readyReplicas",
    "Job": "ready",
}
"""Where controllers say how many of their pods are ready."""

_SECONDS = 600

_EVICT = """\
evict() {  # NAMESPACE POD [UID]: asks again for as long as a disruption budget refuses
  uid=${3:+", \\"deleteOptions\\": {\\"preconditions\\": {\\"uid\\": \\"$3\\"}}"}
  tries=1
  until echo "{\\"apiVersion\\": \\"policy/v1\\", \\"kind\\": \\"Eviction\\",
      \\"metadata\\": {\\"namespace\\": \\"$1\\", \\"name\\": \\"$2\\"}$uid}" |
      kubectl create --raw "/api/v1/namespaces/$1/pods/$2/eviction" -f -; do
    [ "$((tries += 1))" -le 120 ] || exit 1
    sleep 5
  done
  echo
  if [ -z "$3" ]; then
    kubectl wait -n "$1" "pod/$2" --for=delete --timeout=600s
  fi
  while [ -n "$3" ] && [ "$(kubectl get pod -n "$1" "$2" --ignore-not-found \\
      -o 'jsonpath={.metadata.uid}')" = "$3" ]; do
    sleep 1
  done
}
"""


def script_of(plan: Plan, given: Given) -> str:
    return "".join(f"{line}\n" for line in _lines(plan, given))


def _lines(plan: Plan, given: Given) -> Iterator[str]:
    yield "#!/bin/sh"
    if not plan.nodes:
        yield "# No node can be removed."
        return
    yield "set -e"
    yield from _EVICT.splitlines()
    yield ""
    owners = Counter(_owner(pod) for pod in given.pods if pod.spec.node_name and not pod.finished)
    for node in plan.nodes:
        yield f"kubectl cordon {shlex.quote(node)}"
    for move in plan.moves:
        yield from _moved(move, owners)
    yield "# The nodes are empty. Remove their machines, then:"
    for node in plan.nodes:
        yield f"# kubectl delete node {shlex.quote(node)}"


def _moved(move: Move, owners: Counter[tuple[str, str, str]]) -> Iterator[str]:
    pod = move.pod
    to = f"to {move.to}" if move.to else "and does not come back"
    yield f"# {pod.key} goes from {move.node} {to}"
    # What was read from a manifest without a uid has been given one that no cluster has.
    uid = "" if "/" in pod.uid else pod.uid
    yield shlex.join(["evict", pod.namespace, pod.name, *([uid] if uid else [])])
    kind, namespace, name = owner = _owner(pod)
    if move.to and kind in _READY:
        ready = f"--for=jsonpath={{.status.{_READY[kind]}}}={owners[owner]}"
        what = ["-n", namespace, f"{kind.lower()}/{name}", ready, f"--timeout={_SECONDS}s"]
        yield shlex.join(["kubectl", "wait", *what])
    elif move.to:
        yield f"# Wait here until {kind} {name} has another pod ready."


def _owner(pod: Pod) -> tuple[str, str, str]:
    """Kind, namespace and name of the controller of a pod."""
    owner = controller_of(pod)
    return ("", "", "") if owner is None else (owner["kind"], pod.namespace, owner["name"])
