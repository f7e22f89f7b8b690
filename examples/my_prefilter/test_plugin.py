import pytest

from examples.my_prefilter.plugin import MyPreFilter, MyPreFilterArgs
from moorage import Code, Hint
from moorage.testing import FakeHandle, make_node, make_pod, run

KEY = "mycompany.com/environment"
NODES = [make_node("n1"), make_node("n2"), make_node("n3")]


@pytest.mark.parametrize("value", ["abc", ""])
def test_the_annotation_rejects_whatever_its_value(value: str) -> None:
    result = run(MyPreFilter, make_pod(annotations={KEY: value}), NODES)
    assert result.node == ""
    assert result.message == (
        f'0/3 nodes are available: pods with annotation "{KEY}" are not allowed. '
        "no new claims to deallocate, "
        "preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
    )
    assert {status.code for status in result.statuses.values()} == {Code.UNSCHEDULABLE_AND_UNRESOLVABLE}


def test_other_pods_may_go_everywhere() -> None:
    assert run(MyPreFilter, make_pod(annotations={"other": "x"}), NODES).feasible == ["n1", "n2", "n3"]


def test_another_annotation_can_be_chosen() -> None:
    args = {"annotation": "example.com/hold"}
    assert run(MyPreFilter, make_pod(annotations={KEY: "abc"}), NODES, args=args).node
    assert not run(MyPreFilter, make_pod(annotations={"example.com/hold": "1"}), NODES, args=args).node


def test_a_rejected_pod_waits_until_it_has_lost_the_annotation() -> None:
    [event] = MyPreFilter(MyPreFilterArgs(), FakeHandle()).events()
    assert event.hint is not None
    rejected, freed = make_pod(annotations={KEY: "abc"}), make_pod()
    assert event.hint(rejected, rejected, freed) is Hint.QUEUE
    assert event.hint(rejected, rejected, make_pod(annotations={KEY: "other"})) is Hint.SKIP
    assert event.hint(rejected, make_pod("other"), make_pod("other")) is Hint.SKIP
