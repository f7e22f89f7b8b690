from __future__ import annotations

import pytest

from moorage.what_if.trace.job_lists import SOMEWHERE, BadTable, read_jobs, read_nodes

HEAD = "name,namespace,submitted,seconds,cpu,memory,gpu,example.com/card,priority,count,nodeSelector\n"


def jobs(*rows: str, head: str = HEAD) -> list[tuple[float, str, str, bool]]:
    return [
        (
            moment.time,
            moment.pod["metadata"]["name"],
            moment.pod["spec"].get("nodeName", "") + " " + moment.pod["status"]["phase"],
            moment.gone,
        )
        for moment in read_jobs([head, *(f"{row}\n" for row in rows)], "jobs.csv")
    ]


def test_the_life_of_a_job() -> None:
    assert jobs("train,ml,100,1m30s,2,4Gi,1,,50,,disk=ssd") == [
        (100, "train", " Pending", False),
        (100, "train", f"{SOMEWHERE} Running", False),
        (190, "train", f"{SOMEWHERE} Succeeded", False),
        (190, "train", f"{SOMEWHERE} Succeeded", True),
    ]


def test_what_a_job_asks_for() -> None:
    row = "train,ml,2026-01-31T12:00:00Z,5,500m,4Gi,2,1,50,,disk=ssd zone=a\n"
    pod = read_jobs([HEAD, row], "jobs.csv")[0].pod
    assert pod["metadata"]["namespace"] == "ml"
    assert pod["metadata"]["creationTimestamp"] == "2026-01-31T12:00:00Z"
    assert pod["spec"] == {
        "containers": [
            {
                "name": "job",
                "resources": {
                    "requests": {
                        "cpu": "500m",
                        "memory": "4Gi",
                        "nvidia.com/gpu": "2",
                        "example.com/card": "1",
                    },
                    "limits": {"nvidia.com/gpu": "2", "example.com/card": "1"},
                },
            }
        ],
        "priority": 50,
        "nodeSelector": {"disk": "ssd", "zone": "a"},
    }


def test_annotations_for_plugins() -> None:
    head = "name,submitted,annotation:example.com/models,example.com/card\n"
    one, other = (moment.pod for moment in read_jobs([head, "a,10,T4|P100,2\n", "b,11,,\n"], "jobs.csv")[::2])
    assert one["metadata"]["annotations"] == {"example.com/models": "T4|P100"}
    assert one["spec"]["containers"][0]["resources"]["requests"] == {"example.com/card": "2"}
    assert "annotations" not in other["metadata"]


def test_jobs_of_several_pods_that_overlap_and_one_that_never_ends() -> None:
    found = jobs("b,,20,5,1,,,,,2,", "a,,10,,1,,,,,,", "b,,30,1,1,,,,,2,")
    assert [(time, name) for time, name, state, gone in found if state == " Pending"] == [
        (10, "a"),
        (20, "b-0"),
        (20, "b-1"),
        (30, "b-0-row4"),
        (30, "b-1-row4"),
    ]
    assert [name for _, name, _, gone in found if gone] == ["b-0", "b-1", "b-0-row4", "b-1-row4"]


@pytest.mark.parametrize(
    ("row", "place"),
    [
        (",,10,5,1,,,,,,", "row 2, column name: is empty; write it like train-7"),
        ("A_b,,10,5,1,,,,,,", "row 2, column name: 'A_b' is not understood"),
        (
            "a,,yesterday,5,1,,,,,,",
            "row 2, column submitted: 'yesterday' is not understood; write it like 2026",
        ),
        ("a,,nan,5,1,,,,,,", "row 2, column submitted: 'nan'"),
        ("a,,1e30,5,1,,,,,,", "row 2, column submitted: '1e30'"),
        ("a,,10,-5,1,,,,,,", "row 2, column seconds: '-5'"),
        ("a,,10,5,much,,,,,,", "row 2, column cpu: 'much' is not understood; write it like 2, 500m or 4Gi"),
        ("a,,10,5,1,-1Gi,,,,,", "row 2, column memory: '-1Gi'"),
        ("a,,10,5,1,,,x,,,", "row 2, column example.com/card: 'x'"),
        (
            "a,,10,5,1,,,0.5,,,",
            "row 2, column example.com/card: '0.5' is not understood; write it like 2: it",
        ),
        ("a,,10,5,1,,,,high,,", "row 2, column priority: 'high'"),
        ("a,,10,5,1,,,,,0,", "row 2, column count: '0'"),
        ("a,,10,5,1,,,,,,ssd", "row 2, column nodeSelector: 'ssd'"),
        ("a,,10,5,1,,,,,,a=b,c", "row 2: has 12 cells for 11 columns; quote those with a comma"),
    ],
)
def test_a_wrong_cell_is_named(row: str, place: str) -> None:
    with pytest.raises(BadTable) as raised:
        jobs(row)
    assert str(raised.value).startswith(f"jobs.csv: {place}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("name,submitted,pods\n", "row 1: there is no column 'pods'"),
        ("name,submitted,colour\n", "row 1: there is no column 'colour'; there are name, namespace"),
        ("name,submitted,annotation:a b\n", "row 1: there is no column 'annotation:a b'"),
        ("name\n", "row 1: the column 'submitted' is missing"),
        ("name,submitted,name\n", "row 1: there are two columns 'name'"),
        ("", "row 1: the column 'name' is missing"),
    ],
)
def test_wrong_columns_are_named(head: str, place: str) -> None:
    with pytest.raises(BadTable) as raised:
        jobs("a,10", head=head)
    assert str(raised.value).startswith(f"jobs.csv: {place}")


def test_two_nodes_of_a_name_are_refused() -> None:
    with pytest.raises(BadTable, match=r"nodes\.csv: row 3, column name: there is a node a-1 already"):
        read_nodes(["name,count,cpu,memory\n", "a,2,4,1Gi\n", "a-1,,4,1Gi\n"], "nodes.csv")


def test_nodes() -> None:
    table = ["name,count,labels,cpu,memory,gpu,pods\n", "big,2,zone=a,64,256Gi,8,\n", "small,,,4,16Gi,,20\n"]
    found = read_nodes(table, "nodes.csv")
    assert [each["metadata"]["name"] for each in found] == ["big-0", "big-1", "small"]
    assert found[0]["metadata"]["labels"] == {"kubernetes.io/hostname": "big-0", "zone": "a"}
    assert found[0]["status"]["allocatable"] == {
        "cpu": "64",
        "memory": "256Gi",
        "nvidia.com/gpu": "8",
        "pods": "110",
    }
    assert found[2]["status"]["allocatable"]["pods"] == "20"
