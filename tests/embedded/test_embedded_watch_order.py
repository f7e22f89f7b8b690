"""What happens is told by all watches, on all connections, in the order in which it happens."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

import pytest

from tests.embedded.clusters import Embedded
from tests.embedded.watching_sockets import Observer, Server, SocketWatch, Writer

NODES, MAPS, CUBES = "/api/v1/nodes", "/api/v1/namespaces/default/configmaps", "/apis/example.com/v1/cubes"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf,application/json"
BURST = 100

DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "cubes.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"plural": "cubes", "singular": "cube", "kind": "Cube", "listKind": "CubeList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Embedded(alone=True) as running:
        server = Server(running.kubeconfig)
        with closing(Writer(server)) as writer:
            writer.create(NODES, {"metadata": {"name": "n"}})
            writer.create(MAPS, {"metadata": {"name": "m"}})
            writer.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)
            writer.create(CUBES, {"apiVersion": "example.com/v1", "kind": "Cube", "metadata": {"name": "c"}})
        yield server


def changer(writer: Writer, path: str) -> Callable[[object], int]:
    """Changes an object, and returns at which revision."""
    return lambda value: writer.patch(path, {"metadata": {"labels": {"value": str(value)}}})


def test_watches_of_all_kinds_and_forms_tell_in_the_order_of_revisions(server: Server) -> None:
    with ExitStack() as stack:

        def watch(path: str, accept: str = "application/json", version: int = 0) -> SocketWatch:
            target = f"{path}?watch=true&resourceVersion={version or start}"
            return stack.enter_context(closing(SocketWatch(server, target, accept=accept)))

        writers = [stack.enter_context(closing(Writer(server))) for _ in range(3)]
        objects = (f"{NODES}/n", f"{MAPS}/m", f"{CUBES}/c")
        change = [changer(writer, path) for writer, path in zip(writers, objects, strict=True)]
        start = max(each("first") for each in change)
        nodes = [watch(NODES), watch(NODES, PROTOBUF), watch(NODES, TABLE)]
        maps = [watch(MAPS), watch(MAPS, METADATA)]
        cubes = [watch(CUBES), watch(CUBES, TABLE)]
        kinds = [nodes, maps, cubes]
        observer = Observer([*nodes, *maps, *cubes])
        pool = stack.enter_context(ThreadPoolExecutor(3))

        def quiet() -> None:
            """One thing after the other, as a careful client does them."""
            for number in range(20):
                last = [each(f"quiet-{number}") for each in change]
                observer.until({each: last[i] for i, kind in enumerate(kinds) for each in kind})

        def burst() -> list[int]:
            """Many things at once. Returns the last revision of each kind."""
            running = [
                pool.submit(lambda each=each: [each(f"burst-{i}") for i in range(BURST)][-1])  # type: ignore[misc]
                for each in change
            ]
            while not all(each.done() for each in running):
                observer.look()
            return [each.result() for each in running]

        quiet()
        last = burst()
        late = [watch(path, version=start) for path in (NODES, MAPS, CUBES)]
        for kind, each in zip(kinds, late, strict=True):
            kind.append(each)
        observer.add(dict(zip(late, last, strict=True)))
        last = burst()
        observer.until({each: last[i] for i, kind in enumerate(kinds) for each in kind})
        quiet()

        assert observer.disorder() == []
        for kind in kinds:
            told = [each.revisions for each in kind]
            assert told == [sorted(set(told[0]))] * len(kind)
            assert len(told[0]) == 2 * BURST + 2 * 20


def test_a_client_that_does_not_read_holds_up_nobody_and_misses_nothing(server: Server) -> None:
    with ExitStack() as stack:
        writer = stack.enter_context(closing(Writer(server)))
        start = writer.create(MAPS, {"metadata": {"name": "big"}})
        target = f"{MAPS}?watch=true&resourceVersion={start}"
        idle = stack.enter_context(closing(SocketWatch(server, target, room=2**16)))
        busy = stack.enter_context(closing(SocketWatch(server, target)))
        observer = Observer([busy])
        for number in range(20):
            text = str(number).zfill(400_000)
            observer.until({busy: writer.patch(f"{MAPS}/big", {"data": {"text": text}})})
        Observer([idle]).until({idle: busy.last})
        assert idle.revisions == busy.revisions
        assert len(busy.revisions) == 20
