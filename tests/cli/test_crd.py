from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from moorage.api.custom_resources.definitions import custom_resource_definition
from tests.api.licenses import License
from tests.cli.running import refused, run, run_alone

ROOT = Path(__file__).parents[2]
URL = "https://github.com/kubernetes/kubernetes/pull/78458"

HEAD = "from moorage import Object\n\n\n"
LICENSE = HEAD + (
    "class License(Object, kw_only=True):\n"
    '    """A license."""\n\n'
    '    group = "shop.example.com"\n'
    '    resource = "licenses"\n'
    '    kind = "License"\n\n'
    "    seats: int\n"
)
QUOTA = (
    "\n\nclass Quota(License, kw_only=True):\n"
    '    group = "shop.k8s.io"\n'
    '    resource = "quotas"\n'
    '    kind = "Quota"\n'
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "api.py"
    written.write_text(LICENSE)
    return written


def test_a_class_of_a_file(file: Path) -> None:
    result = run("crd", f"{file}:License")
    assert (result.exit_code, result.stderr) == (0, "")
    [version] = yaml.safe_load(result.stdout)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert schema["properties"]["seats"] == {"type": "integer", "format": "int64"}
    assert schema["required"] == ["seats"]


def test_a_class_of_a_module() -> None:
    result = run("crd", "tests.api.licenses:License")
    assert yaml.safe_load(result.stdout) == custom_resource_definition(License)


def test_all_classes_of_a_file_and_several_files(file: Path, tmp_path: Path) -> None:
    file.write_text(LICENSE + QUOTA)
    other = tmp_path / "other.py"
    other.write_text(LICENSE.replace("licenses", "others"))
    result = run("crd", file, f"{other}:License", "--api-approved", URL)
    assert (result.exit_code, result.stderr) == (0, "")
    found = list(yaml.safe_load_all(result.stdout))
    names = [each["metadata"]["name"] for each in found]
    assert names == ["licenses.shop.example.com", "quotas.shop.k8s.io", "others.shop.example.com"]
    assert [each["metadata"]["annotations"] for each in found] == [{"api-approved.kubernetes.io": URL}] * 3


def test_a_protected_group_without_an_approval_is_printed_with_a_warning(file: Path) -> None:
    file.write_text(LICENSE + QUOTA)
    result = run("crd", f"{file}:Quota")
    assert result.exit_code == 0
    assert "annotations" not in yaml.safe_load(result.stdout)["metadata"]
    assert result.stderr == (
        "Warning: quotas.shop.k8s.io: the API server will refuse this: the group shop.k8s.io is protected "
        "and needs the annotation api-approved.kubernetes.io; give it with --api-approved URL\n"
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("none.py:License", "none.py: no such file; check the path"),
        ("moorage_gone:License", "moorage_gone: no such module"),
        ("api.py:Lizenz", "api.py:Lizenz: Lizenz is not a class in api.py that derives from moorage.Object"),
        ("api.py:HEAD", "api.py:HEAD: HEAD is not a class in api.py that derives from moorage.Object"),
        ("empty.py", "empty.py: holds no class that derives from moorage.Object"),
        (
            "broken.py",
            "broken.py: cannot be imported: ZeroDivisionError: division by zero (broken.py:1)",
        ),
        ("odd.py", "odd.py: License: seats: a decimal cannot be expressed; use a type that JSON has"),
        ("nameless.py", "nameless.py: License: the class variable `kind` is missing; write kind = "),
        (
            "low.py:License",
            "low.py: License: spec.validation.openAPIV3Schema.properties[seats].default: Invalid value: 0:  "
            "in body should be greater than or equal to 1",
        ),
        (
            "ahead.py",
            "ahead.py: License: spec.validation.openAPIV3Schema.properties[seats].pattern: Invalid value: ",
        ),
        (
            "zoneless.py",
            "zoneless.py: License: spec.validation.openAPIV3Schema.properties[seats].default: Invalid value: "
            '"2024-01-02T00:00:00":  in body must be of type date-time: "2024-01-02T00:00:00"',
        ),
    ],
)
def test_bad_input_is_one_line(
    spec: str, message: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file.write_text(LICENSE + "\nHEAD = 5\n")
    (tmp_path / "empty.py").write_text(HEAD)
    (tmp_path / "broken.py").write_text("1 / 0\n")
    odd = LICENSE.replace("seats: int", "seats: Decimal")
    (tmp_path / "odd.py").write_text(f"from decimal import Decimal\n{odd}")
    (tmp_path / "nameless.py").write_text(LICENSE.replace('    kind = "License"\n', ""))
    constrained = f"from typing import Annotated\nfrom msgspec import Meta\n{LICENSE}"
    low = constrained.replace("seats: int", "seats: Annotated[int, Meta(ge=1)] = 0")
    (tmp_path / "low.py").write_text(low)
    ahead = constrained.replace("seats: int", 'seats: Annotated[str, Meta(pattern="^(?!a)b")]')
    (tmp_path / "ahead.py").write_text(ahead)
    zoneless = LICENSE.replace("seats: int", "seats: datetime = datetime(2024, 1, 2)")
    (tmp_path / "zoneless.py").write_text(f"from datetime import datetime\n{zoneless}")
    assert refused(run("crd", spec)).startswith(message)


def test_words_that_yaml_readers_differ_about_are_quoted(file: Path) -> None:
    file.write_text(
        "from typing import Literal\n" + LICENSE.replace("seats: int", 'y: Literal["n", "1e3", "0o7"] = "n"')
    )
    lines = [line.strip() for line in run("crd", file).stdout.splitlines()]
    for quoted in ("'y':", "default: 'n'", "- 'n'", "- '1e3'", "- '0o7'"):
        assert quoted in lines


def test_the_same_resource_twice(file: Path) -> None:
    line = refused(run("crd", file, f"{file}:License"))
    assert "licenses.shop.example.com is there already; a resource can have one class only" in line


def test_an_approval_that_is_none(file: Path) -> None:
    assert "'yes' is no approval" in refused(run("crd", file, "--api-approved", "yes"))


def test_without_a_class() -> None:
    done = run_alone("crd")
    assert done.returncode == 2
    assert "Missing argument 'CLASS...'" in done.stderr


def test_help_shows_examples() -> None:
    assert "moorage crd api.py:License | kubectl apply -f -" in run("crd", "--help").stdout


def test_the_manifest_of_the_example_is_what_the_command_prints() -> None:
    spec = "examples.node_crd_resource_fit.api:ClusterScopedResource"
    done = run_alone("crd", spec, "--api-approved", URL, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
    manifest = ROOT / "examples" / "node_crd_resource_fit" / "manifests" / "crd.yaml"
    assert manifest.read_text() == done.stdout
