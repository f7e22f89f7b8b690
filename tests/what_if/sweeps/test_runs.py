"""Which runs a sweep has, and how they are told apart."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from moorage.plugins.catalog import in_tree_registry
from moorage.what_if.replay.jobs import Job
from moorage.what_if.sweeps.configurations import Document, score_weights
from moorage.what_if.sweeps.fingerprints import content_key, key_of
from moorage.what_if.sweeps.objectives import rank
from moorage.what_if.sweeps.runs import Configuration, plan
from tests.config.samples import text_of
from tests.what_if.sweeps.fakes import OUTCOME, weights_in


@pytest.fixture(autouse=True)
def files_may_change() -> None:
    content_key.cache_clear()


def configuration(name: str = "defaults") -> Configuration:
    import yaml

    document: Document = yaml.safe_load(text_of())
    return Configuration(name, document, score_weights(document, in_tree_registry().points_of()))


def trace_in(folder: Path) -> str:
    file = folder / "trace"
    file.write_text("what happened")
    return str(file)


def test_every_configuration_with_every_weight_and_every_seed(tmp_path: Path) -> None:
    base = Job(trace=trace_in(tmp_path))
    weights = {"NodeResourcesFit": [1, 5], "ImageLocality": [0, 2, 3]}
    runs = list(plan(base, [configuration("a"), configuration("b")], weights, seeds=2))
    assert len(runs) == 2 * 2 * 3 * 2
    assert [run.label for run in runs[:3]] == [
        "a NodeResourcesFit=1 ImageLocality=0",
        "a NodeResourcesFit=1 ImageLocality=0",
        "a NodeResourcesFit=1 ImageLocality=2",
    ]
    for run in runs:
        assert weights_in(run.job).items() >= run.weights.items()
        assert (run.job.seed, run.job.trace) == (run.seed, base.trace)


def test_a_run_is_known_again_by_what_is_in_its_files(tmp_path: Path) -> None:
    base = Job(trace=trace_in(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    moved = replace(base, trace=trace_in(tmp_path / "elsewhere"))
    assert key_of(moved) == key_of(base)
    others = [
        replace(base, seed=1),
        replace(base, config=json.dumps({"parallelism": 1})),
        replace(base, since=1.0),
        replace(base, prices=(("a=b", 1.0),)),
        replace(base, plugins=("some.module",)),
    ]
    assert len({key_of(job) for job in (base, *others)}) == len(others) + 1
    plugin = tmp_path / "plugin.py"
    plugin.write_text("first = 1")
    job = replace(base, plugins=(f"{plugin}:Class",))
    before = key_of(job)
    content_key.cache_clear()
    plugin.write_text("second = 2")
    assert key_of(job) != before


def test_a_folder_is_known_by_all_files_in_it(tmp_path: Path) -> None:
    for name in ("a.py", "inner/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    before = content_key(str(tmp_path))
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_text("made of a.py")
    content_key.cache_clear()
    assert content_key(str(tmp_path)) == before
    (tmp_path / "inner" / "b.py").write_text("other")
    content_key.cache_clear()
    assert content_key(str(tmp_path)) != before


def test_fewer_pods_are_never_better() -> None:
    few = replace(OUTCOME, placed=99, pending_p99=0.0)
    assert rank([OUTCOME], "pending_p99") < rank([few], "pending_p99")
    quick = replace(OUTCOME, pending_p99=1.0)
    assert rank([quick], "pending_p99") < rank([OUTCOME], "pending_p99")
    unknown = replace(OUTCOME, pending_p99=float("nan"))
    assert rank([OUTCOME], "pending_p99") < rank([unknown], "pending_p99")
