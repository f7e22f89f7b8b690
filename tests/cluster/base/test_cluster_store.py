from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base import data_file
from moorage.cluster.base import store as store_module
from moorage.cluster.base.data_file import DataFile, DataFileError
from moorage.cluster.base.store import Change, Document, Exists, Forgotten, Stale, Store, Stored


def document(name: str, **more: object) -> Document:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a"}, **more}


def put(store: Store, name: str, **more: object) -> Stored:
    return store.create("pods", "a", name, document(name, **more))


def test_every_write_gets_the_next_revision() -> None:
    store = Store()
    first = put(store, "p")
    second = store.update("pods", first, {**first.document, "spec": {"nodeName": "n"}})
    last = store.delete("pods", second)

    assert [first.revision, second.revision, last.revision] == [2, 3, 4]
    assert second.document["metadata"]["resourceVersion"] == "3"
    assert first.document["metadata"]["resourceVersion"] == "2", "a stored document never changes"
    assert store.revision == 4
    assert store.get("pods", "a", "p") is None


def test_a_name_can_be_taken_once() -> None:
    store = Store()
    put(store, "p")
    with pytest.raises(Exists):
        put(store, "p")
    store.create("services", "a", "p", document("p"))
    store.create("pods", "b", "p", document("p"))


def test_only_the_present_object_can_be_changed() -> None:
    store = Store()
    first = put(store, "p")
    store.update("pods", first, first.document)
    with pytest.raises(Stale):
        store.update("pods", first, first.document)
    with pytest.raises(Stale):
        store.delete("pods", first)


def test_objects_come_in_the_order_of_namespace_and_name() -> None:
    store = Store()
    for namespace, name in (("b", "1"), ("a", "2"), ("a", "1")):
        store.create("pods", namespace, name, document(name))
    assert [(each.namespace, each.name) for each in store.objects("pods")] == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
    ]
    assert [each.name for each in store.objects("pods", "a")] == ["1", "2"]
    assert store.count("pods") == 3


def test_listeners_hear_of_a_change_when_the_store_shows_it() -> None:
    store = Store()
    heard: list[tuple[str, str, bool]] = []

    def listen(change: Change) -> None:
        present = store.get("pods", "a", change.new.name) is not None
        heard.append((change.type, change.new.name, present))

    stop = store.listen("pods", listen)
    stored = put(store, "p")
    store.create("services", "a", "s", document("s"))
    store.delete("pods", stored)
    stop()
    put(store, "q")

    assert heard == [("ADDED", "p", True), ("DELETED", "p", False)]


writes = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(("put", "delete"))), max_size=40)


@given(writes, st.integers(0, 40))
def test_the_changes_since_any_revision_lead_to_the_present_state(
    steps: list[tuple[str, str]], start: int
) -> None:
    store = Store()
    seen: dict[str, int] = {}
    revision = store.revision
    for number, (name, what) in enumerate(steps):
        if number == start:
            seen = {each.name: each.revision for each in store.objects("pods")}
            revision = store.revision
        present = store.get("pods", "a", name)
        if what == "delete":
            if present is not None:
                store.delete("pods", present)
        elif present is None:
            put(store, name)
        else:
            store.update("pods", present, present.document)
    for change in store.since("pods", revision):
        if change.type == "DELETED":
            assert seen.pop(change.new.name)
        else:
            assert (change.type == "ADDED") == (change.new.name not in seen)
            seen[change.new.name] = change.new.revision
    assert seen == {each.name: each.revision for each in store.objects("pods")}


def test_a_long_history_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "HISTORY", 3)
    store = Store()
    for number in range(5):
        put(store, str(number))
    assert [change.new.name for change in store.since("pods", 3)] == ["2", "3", "4"]
    with pytest.raises(Forgotten) as info:
        store.since("pods", 2)
    assert info.value.oldest == 3


@pytest.fixture
def file(tmp_path: Path) -> Iterator[DataFile]:
    data = DataFile(tmp_path / "cluster.db")
    yield data
    data.close()


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    data = DataFile(path)
    store = Store(data)
    kept = put(store, "kept", text="ü\x00")
    kept = store.update("pods", kept, {**kept.document, "spec": {"nodeName": "n"}})
    store.delete("pods", put(store, "gone"))
    data.set("token", "secret")
    data.close()

    again = DataFile(path)
    restored = Store(again)
    assert again.load(restored) == 1
    assert [each.document for each in restored.objects("pods")] == [kept.document]
    assert restored.revision >= store.revision, "the revision of a deletion counts too"
    assert again.setting("token") == "secret"
    with pytest.raises(Forgotten):
        restored.since("pods", restored.revision - 1)
    assert restored.since("pods", restored.revision) == []
    again.close()


def test_what_the_file_refuses_has_not_happened(file: DataFile) -> None:
    store = Store(file)
    put(store, "p")
    file.close()
    heard: list[Change] = []
    store.listen("pods", heard.append)
    with pytest.raises(Exception, match="closed"):
        put(store, "q")
    assert heard == []
    assert store.get("pods", "a", "q") is None
    assert store.revision == 2


def test_a_file_is_for_one_process(file: DataFile, tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="in use by another process"):
        DataFile(tmp_path / "cluster.db")


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"metadata":{"resourceVersion":"x"}}', b"\xff"])
def test_a_damaged_line_is_named_as_such(file: DataFile, tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "cluster.db"
    put(Store(file), "p")
    file.close()
    path.write_bytes(path.read_bytes() + b'["pods","a","q",' + body + b"]\n")
    with pytest.raises(DataFileError, match=r"cluster\.db: is damaged"):
        DataFile(path).load(Store())


def test_half_a_line_at_the_end_was_never_acknowledged(file: DataFile, tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    put(Store(file), "p")
    file.close()
    whole = path.read_bytes()
    for size in range(1, 40):
        path.write_bytes(whole + b'["pods","a","q",{"metadata":{"resourceVersion":"3"}}]\n'[:size])
        again = DataFile(path)
        store = Store(again)
        assert again.load(store) == 1
        put(store, "r")
        again.close()
        once_more = DataFile(path)
        assert once_more.load(Store(once_more)) == 2
        once_more.close()
        path.write_bytes(whole)


def test_outdated_lines_are_cleared_away(
    file: DataFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_file, "_WASTE", 10_000)
    path = tmp_path / "cluster.db"
    store = Store(file)
    file.load(store)
    file.set("token", "secret")
    stored = put(store, "p", text="x" * 100)
    largest = 0
    for _ in range(1000):
        stored = store.update("pods", stored, stored.document)
        largest = max(largest, path.stat().st_size)
    assert largest < 20_000
    file.close()
    again = DataFile(path)
    restored = Store(again)
    assert again.load(restored) == 1
    assert restored.objects("pods")[0].document == stored.document
    assert again.setting("token") == "secret"
    again.close()


def test_other_files_are_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but something to keep" * 100)
    with pytest.raises(DataFileError, match="is not a data file of moorage up"):
        DataFile(path)
    assert path.read_text().startswith("not a database")
    with pytest.raises(DataFileError, match="cannot be used: No such file or directory; give another file"):
        DataFile(tmp_path / "missing" / "cluster.db")


def test_a_file_of_another_version_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "cluster.db"
    path.write_text('["moorage up",2]\nwhatever that means\n')
    with pytest.raises(DataFileError, match="was written by another version of moorage; use that one or"):
        DataFile(path)
    assert path.read_text().endswith("whatever that means\n")


def test_a_folder_in_which_no_file_can_be_replaced_is_told(tmp_path: Path) -> None:
    data = DataFile(tmp_path / "cluster.db")
    (tmp_path / ".cluster.db.new").mkdir()
    with pytest.raises(DataFileError, match="cannot be used: Is a directory; give another file"):
        data.load(Store(data))
    data.close()
