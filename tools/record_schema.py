"""Records the built-in API types and resources for the embedded cluster.

Two sources are put together: what an API server says about itself (OpenAPI v3 and discovery) and the Go
declarations of the same types, which alone tell how values are written when they are zero. Run it with a
kubeconfig of an API server and a Go module cache that holds the k8s.io modules of the same release:

    python -m tools.record_schema --kubeconfig FILE --modules "$(go env GOMODCACHE)"
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

from tools.go_types import GoField, Modules, go_path

DATA = Path(__file__).parent.parent / "src/moorage/cluster/schema/data"

SERVED_GROUPS = {
    "",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "apiregistration.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "node.k8s.io",
}
SEVERAL_VERSIONS = {"autoscaling": ("v2", "v1")}
"""In the order in which they are preferred; of all others, v1 is served."""

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "quantity",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "int-or-string",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "any",
    f"{META}.Time": "date-time",
    f"{META}.MicroTime": "micro-time",
    f"{META}.FieldsV1": "any",
    f"{EXTENSIONS}.JSON": "any",
    f"{EXTENSIONS}.JSONSchemaPropsOrArray": "JSONSchemaPropsOrArray",
    f"{EXTENSIONS}.JSONSchemaPropsOrBool": "JSONSchemaPropsOrBool",
    f"{EXTENSIONS}.JSONSchemaPropsOrStringArray": "JSONSchemaPropsOrStringArray",
}
ALWAYS_WRITTEN = {
    "quantity": "0",
    "int-or-string": 0,
    "any": None,
    "date-time": None,
    "micro-time": None,
    "string": "",
    "boolean": False,
    "int32": 0,
    "int64": 0,
    "double": 0,
    "bytes": "",
}
GO_SCALARS = {"boolean": "bool", "double": "float64", "bytes": "[]uint8"}
GO_SPECIAL = {
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
    "date-time": "v1.Time",
    "micro-time": "v1.MicroTime",
}


# The table of types


def short(type_name: str) -> str:
    """io.k8s.api.core.v1.Pod → core.v1.Pod; the first part of that is the file it is recorded in."""
    return ".".join(type_name.split(".")[-3:])


class Recorder:
    def __init__(self, modules: Modules) -> None:
        self.modules = modules
        self.components: dict[str, Any] = {}
        self.blocks: dict[str, str] = {}
        self._waiting: list[str] = []

    def add_document(self, document: dict[str, Any], version: str) -> None:
        self.components |= document["components"]["schemas"]
        for name, schema in document["components"]["schemas"].items():
            kinds = schema.get("x-kubernetes-group-version-kind", [])
            own = not name.startswith("io.k8s.apimachinery.")
            if own and not name.endswith("List") and any(kind["version"] == version for kind in kinds):
                self._waiting.append(name)

    def record(self) -> None:
        while self._waiting:
            name = self._waiting.pop()
            if name not in self.blocks:
                self.blocks[name] = self._block(name)

    def _block(self, name: str) -> str:
        schema = self.components[name]
        head = [name.rpartition(".")[2]]
        if schema.get("x-kubernetes-map-type") == "atomic":
            head.append("atomic")
        if kinds := schema.get("x-kubernetes-group-version-kind"):
            head.append("kind=" + (kinds[0]["group"] or "core") + "/" + kinds[0]["version"])
        lines = [" ".join(head)]
        go_fields = self.modules.fields(go_path(name), name.rpartition(".")[2])
        required = schema.get("required", ())
        for field, value in sorted(schema.get("properties", {}).items()):
            lines.append(" ".join(self._field(name, field, value, field in required, go_fields[field])))
        return "\n ".join(lines)

    def _field(self, owner: str, name: str, schema: dict[str, Any], required: bool, go: GoField) -> list[str]:
        expression = self._expression(schema, owner)
        derived = go_type_of(expression)
        if go.go_type != derived and expression not in ("any", *GO_SPECIAL):
            expression += f"({go.go_type.removeprefix('v1.')})"
        words = [name + "!" * required, expression]
        default, omits_zero = zero_rules(expression, go)
        declared = schema.get("default")
        if declared or (not default and declared not in (None, {})):
            default = json.dumps(declared, separators=(",", ":"))
        if omits_zero:
            words.append("~")
        if default:
            words.append(f"={default}")
        if keys := schema.get("x-kubernetes-list-map-keys"):
            words.append("list=" + ",".join(keys))
        elif schema.get("x-kubernetes-list-type") == "set":
            words.append("set")
        if map_type := schema.get("x-kubernetes-map-type"):
            words.append(map_type)
        if strategy := schema.get("x-kubernetes-patch-strategy"):
            words.append(f"patch={strategy}:{schema.get('x-kubernetes-patch-merge-key', '')}".rstrip(":"))
        if go.inside:
            words.append(f"in={go.inside}")
        return words

    def _expression(self, schema: dict[str, Any], owner: str) -> str:
        reference = schema.get("$ref") or next((each["$ref"] for each in schema.get("allOf", ())), None)
        if reference:
            name = reference.rpartition("/")[2]
            if name in SPECIAL:
                if name.startswith(f"{EXTENSIONS}.JSONSchemaPropsOr"):
                    self._waiting.append(f"{EXTENSIONS}.JSONSchemaProps")
                return SPECIAL[name]
            self._waiting.append(name)
            same_package = name.rpartition(".")[0] == owner.rpartition(".")[0]
            return name.rpartition(".")[2] if same_package else short(name)
        kind, form = schema.get("type"), schema.get("format")
        if kind == "array":
            return "[]" + self._expression(schema["items"], owner)
        if kind == "object":
            values = schema.get("additionalProperties")
            return "{}" + self._expression(values, owner) if values else "any"
        if kind == "string":
            return "bytes" if form == "byte" else "string"
        return form or {"number": "double", "integer": "int64"}.get(str(kind), str(kind))


def go_type_of(expression: str) -> str:
    """How Go writes the type, as far as the expression tells."""
    if expression.startswith("[]"):
        return "[]" + go_type_of(expression[2:])
    if expression.startswith("{}"):
        return "map[string]" + go_type_of(expression[2:])
    known = GO_SCALARS.get(expression) or GO_SPECIAL.get(expression)
    last = expression.rpartition(".")[2]
    return known or ("v1." + last if last[0].isupper() else expression)


def zero_rules(expression: str, go: GoField) -> tuple[str, bool]:
    """The value that is written for an absent field, as JSON, and whether a zero is left out."""
    plain = expression.partition("(")[0]
    if go.pointer:
        return "", False
    if plain.startswith(("[]", "{}")) or plain == "bytes":
        return ("", True) if "omitempty" in go.options else ("null", False)
    is_struct = plain.rpartition(".")[2][0].isupper() or plain in GO_SPECIAL or plain == "any"
    if "omitzero" in go.options or ("omitempty" in go.options and not is_struct):
        return "", True
    return json.dumps(ALWAYS_WRITTEN.get(plain, {})), False


# Discovery


def resource_lines(group: str, version: str, listed: dict[str, Any]) -> list[str]:
    lines = []
    for resource in sorted(listed["resources"], key=lambda each: each["name"].partition("/")[::2]):
        plural, _, subresource = resource["name"].partition("/")
        verbs = ",".join(resource["verbs"])
        if subresource:
            kind = "/".join(filter(None, (resource.get("group"), resource.get("version"), resource["kind"])))
            lines.append(f"  {subresource} {kind} {verbs}")
            continue
        words = [plural, resource["kind"], resource["singularName"]]
        words += ["namespaced" if resource["namespaced"] else "cluster", verbs]
        words += [f"short={','.join(resource['shortNames'])}"] if resource.get("shortNames") else []
        words += [f"categories={','.join(resource['categories'])}"] if resource.get("categories") else []
        lines.append(" " + " ".join(words))
    return [f"{group or 'core'} {version}", *lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--modules", required=True, type=Path, help="the Go module cache")
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--output", type=Path, default=DATA)
    arguments = parser.parse_args()

    def get(path: str) -> Any:
        command = [arguments.kubectl, "--kubeconfig", arguments.kubeconfig, "get", "--raw", path]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    release = get("/version")["gitVersion"]
    recorder = Recorder(Modules(arguments.modules, "v0" + release.removeprefix("v1")))
    resources = []
    for group in ["", *(each["name"] for each in get("/apis")["groups"])]:
        for version in SEVERAL_VERSIONS.get(group, ("v1",)) if group in SERVED_GROUPS else ():
            path = f"/apis/{group}/{version}" if group else f"/api/{version}"
            recorder.add_document(get(f"/openapi/v3{path}"), version)
            resources += resource_lines(group, version, get(path))
    recorder.record()

    arguments.output.mkdir(exist_ok=True)
    (arguments.output / "resources.txt").write_text("\n".join(resources) + "\n")
    files: dict[str, list[str]] = {}
    for name, block in sorted(recorder.blocks.items()):
        files.setdefault(name.rpartition(".")[0], []).append(block)
    for package, blocks in files.items():
        file = ".".join(package.split(".")[-2:]) + ".txt"
        (arguments.output / file).write_text(f"{package}\n\n" + "\n\n".join(blocks) + "\n")


if __name__ == "__main__":
    main()
