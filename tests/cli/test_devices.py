"""`--devices`: what is understood, and the one line for what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from moorage.cli.devices import objects_for, read_devices
from tests.cli.running import Document, node, refused, run, write

HOLDS = "a YAML file of ResourceSlices and DeviceClasses"
NODE = "$(NODE_NAME)"


def device_class(name: str, version: str = "resource.k8s.io/v1") -> Document:
    return {"apiVersion": version, "kind": "DeviceClass", "metadata": {"name": name}, "spec": {}}


def resource_slice(name: str, **spec: Any) -> Document:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": "fpga.example.com",
            "pool": {"name": NODE, "generation": 1, "resourceSliceCount": 1},
            "nodeName": NODE,
            "devices": [{"name": "fpga-0"}],
            **spec,
        },
    }


def both(kubeconfig: Path, *args: str | Path) -> list[str]:
    """The lines with which both commands refuse their input."""
    given = [word for each in args for word in ("--devices", each)]
    return [
        refused(run("up", *given, "--kubeconfig", kubeconfig)),
        refused(run("simulate", "--nodes", "1", "--pods", "1", *given)),
    ]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            ["gpu=x"],
            "--devices gpu=x: 'x' is no number of devices; give one from 1 to 128, as in gpu=8, or a file "
            "for more",
        ),
        (
            ["gpu=0"],
            "--devices gpu=0: '0' is no number of devices; give one from 1 to 128, as in gpu=8, or a ",
        ),
        (["gpu=129"], "--devices gpu=129: '129' is no number of devices; give one from 1 to 128, "),
        (["gpu=-1"], "--devices gpu=-1: '-1' is no number of devices; "),
        (["gpu="], "--devices gpu=: '' is no number of devices; "),
        (["gpu=²"], "--devices gpu=²: '²' is no number of devices; "),
        ([f"gpu={'9' * 5000}"], f"--devices gpu={'9' * 5000}: "),
        (["gpu"], f"--devices: 'gpu' is neither NAME=COUNT nor a file; give gpu=8 or {HOLDS}"),
        ([""], f"--devices: '' is neither NAME=COUNT nor a file; give gpu=8 or {HOLDS}"),
        (["none.yaml"], "--devices: 'none.yaml' is neither NAME=COUNT nor a file; "),
        (
            ["GPU=8"],
            "--devices GPU=8: 'GPU' cannot be the name of a device class; give up to 51 small ",
        ),
        (["=8"], "--devices =8: '' cannot be the name of a device class; "),
        ([f"{'x' * 52}=8"], f"--devices {'x' * 52}=8: '{'x' * 52}' cannot be the name of a device class; "),
        (
            ["gpu=8", "gpu=4"],
            "--devices gpu=4: DeviceClass gpu is in --devices gpu=8, too; leave one out or rename it",
        ),
        (["gpu=8", "gpu=8"], "--devices gpu=8: DeviceClass gpu is in --devices gpu=8, too; "),
    ],
)
def test_what_cannot_be_used(given: list[str], line: str, tmp_path: Path) -> None:
    for shown in both(tmp_path / "kubeconfig", *given):
        assert shown.startswith(line)
    assert not (tmp_path / "kubeconfig").exists()


@pytest.mark.parametrize(
    ("documents", "line"),
    [
        ([device_class("a")], "--devices: {file} holds no ResourceSlice; give " + HOLDS),
        (
            [resource_slice(f"{NODE}-a"), node("n")],
            "--devices: {file}, document 2: holds a Node of v1; give ResourceSlices and DeviceClasses",
        ),
        (
            [device_class("a", "resource.k8s.io/v1beta1")],
            "--devices: {file}: holds a DeviceClass of resource.k8s.io/v1beta1; give ResourceSlices and ",
        ),
        (
            [resource_slice("all")],
            "--devices: {file}: every node has this ResourceSlice, so its name needs the node's; name it "
            "$(NODE_NAME)-all",
        ),
        (
            [resource_slice(f"{NODE}-a"), resource_slice(f"{NODE}-a")],
            "--devices: {file}, document 2: ResourceSlice node-a is given twice; leave one out or rename it",
        ),
        (
            [resource_slice(f"{NODE}-a", devices=5)],
            "--devices: {file}: ResourceSlice node-a: Expected `array`, got `int` - at `$.spec.devices`",
        ),
        ([resource_slice("")], "--devices: {file}: this ResourceSlice has no name; give it a `metadata`"),
    ],
)
def test_files_that_cannot_be_used(documents: list[Document], line: str, tmp_path: Path) -> None:
    file = write(tmp_path / "devices.yaml", *documents)
    for shown in both(tmp_path / "kubeconfig", file):
        assert shown.startswith(line.replace("{file}", str(file)))


def test_what_is_no_yaml(tmp_path: Path) -> None:
    file = tmp_path / "devices.yaml"
    file.write_text("a: [")
    for shown in both(tmp_path / "kubeconfig", file):
        assert shown.startswith(f"{file}: line 2, column 1: not YAML: ")


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"allNodes": True}, '"node-a" is invalid: spec: Invalid value: "{`nodeName`, `allNodes`}"'),
        (
            {"devices": [{"name": "a", "size": 1}]},
            'strict decoding error: unknown field "spec.devices[0].size"',
        ),
        ({"devices": [{"name": "A"}]}, '"node-a" is invalid: spec.devices[0].name: Invalid value: "A"'),
    ],
)
def test_devices_that_break_rules(spec: Document, why: str, tmp_path: Path) -> None:
    file = write(tmp_path / "devices.yaml", resource_slice(f"{NODE}-a", **spec))
    shown = refused(run("up", "--devices", file, "--kubeconfig", tmp_path / "kubeconfig"))
    assert shown.startswith(f"--devices {file}: ResourceSlice")
    assert why in shown


def test_what_is_made_for_which_nodes(tmp_path: Path) -> None:
    file = write(
        tmp_path / "devices.yaml",
        {"kind": "List", "items": [device_class("fpga"), resource_slice(f"{NODE}-fpga")]},
        resource_slice(
            "fabric", nodeName=None, allNodes=True, pool={"name": "fabric", "resourceSliceCount": 1}
        ),
    )
    made = list(objects_for(read_devices([str(file), "gpu=2"]), ["a", "b"]))
    assert [(place.rpartition("/")[2], item.kind, item.name) for place, item in made] == [
        ("devices.yaml", "DeviceClass", "fpga"),
        ("devices.yaml", "ResourceSlice", "fabric"),
        ("devices.yaml", "ResourceSlice", "a-fpga"),
        ("devices.yaml", "ResourceSlice", "b-fpga"),
        ("--devices gpu=2", "DeviceClass", "gpu"),
        ("--devices gpu=2", "ResourceSlice", "a-gpu.example.com"),
        ("--devices gpu=2", "ResourceSlice", "b-gpu.example.com"),
    ]
    assert len({item.uid for _, item in made}) == len(made)


def test_a_simulation_refuses_what_the_manifests_have_already(tmp_path: Path) -> None:
    cluster = write(tmp_path / "cluster.yaml", node("a"), device_class("gpu"))
    line = refused(run("simulate", cluster, "--pods", "1", "--devices", "gpu=8"))
    assert line.startswith(f"--devices gpu=8: DeviceClass gpu is given twice in {cluster}; ")
