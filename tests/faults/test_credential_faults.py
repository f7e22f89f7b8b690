"""Tokens are revoked and certificates are replaced while the scheduler runs."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.controlplane.programs import programs_for
from tests.controlplane.servers import ControlPlane, wait_for
from tests.faults.audit import POLICY
from tests.faults.gateway import Action, Gateway, pass_on, refuse
from tests.faults.history import FLAGS
from tests.faults.scene import Scene
from tests.server.certificates import Authority

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> tuple[Authority, Authority]:
    """Those that signed client certificates before and after the rotation."""
    return Authority(tmp_path_factory.mktemp("old")), Authority(tmp_path_factory.mktemp("new"))


@pytest.fixture(scope="module")
def client_ca(authorities: tuple[Authority, Authority], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whom the API server believes; it reads the file anew when it changes."""
    file = tmp_path_factory.mktemp("clients") / "ca.pem"
    file.write_bytes(authorities[0].file.read_bytes())
    return file


@pytest.fixture(scope="module")
def plane(pytestconfig: pytest.Config, client_ca: Path) -> Iterator[ControlPlane]:
    flags = (*FLAGS, f"--client-ca-file={client_ca}")
    with ControlPlane(
        programs_for(pytestconfig), apiserver_flags=flags, audit=True, audit_policy=POLICY
    ) as running:
        yield running


def unknown(token: str) -> Action:
    """Whoever shows this token is not known."""

    async def action(gateway: Gateway, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") == f"Bearer {token}":
            return await refuse(401, message="Unauthorized")(gateway, request)
        return await pass_on(gateway, request)

    return action


def test_the_token_is_revoked_and_another_one_put_into_its_file(scene: Scene) -> None:
    plane = scene.plane
    for account in ("old", "new"):
        plane.kubectl("create", "serviceaccount", account, "-n", "kube-system")
        subject = f"--serviceaccount=kube-system:{account}"
        plane.kubectl("create", "clusterrolebinding", account, "--clusterrole=cluster-admin", subject)
    old, new = plane.token("old"), plane.token("new")
    file = scene.folder / "token"
    file.write_text(old)
    with Gateway(plane.url, plane.ca_file, scene.folder) as gateway:
        content = json.loads(scene.kubeconfig("", gateway.url, gateway.ca_file).read_text())
        content["users"][0]["user"] = {"tokenFile": str(file)}
        with scene.scheduler(scene.write_kubeconfig(content)) as process:
            half = scene.size.pods // 2
            scene.create_pods(half)
            scene.wait_until_all_are_bound(process)
            with gateway.fault(unknown(old)) as fault:
                gateway.inject("", b"", then_cut=True)
                scene.create_pods(half)
                wait_for("a refused request", lambda: "Unauthorized" in process.log_text())
                assert scene.bound() == half
                file.write_text(new)
                scene.wait_until_all_are_bound(process)
            assert fault.happened
    scene.audit()


def test_client_certificates_are_rotated(
    scene: Scene, authorities: tuple[Authority, Authority], client_ca: Path
) -> None:
    both = scene.folder / "client.pem"
    content = json.loads(scene.plane.kubeconfig.read_text())
    content["users"][0]["user"] = {"client-certificate": str(both), "client-key": str(both)}
    before, after = (each.client("moorage", "system:masters").read_bytes() for each in authorities)
    both.write_bytes(before)
    with scene.scheduler(scene.write_kubeconfig(content)) as process:
        half = scene.size.pods // 2
        scene.create_pods(half)
        scene.wait_until_all_are_bound(process)
        # The API server believes another authority from now on; it takes a moment to notice.
        client_ca.write_bytes(authorities[1].file.read_bytes())
        unauthorized = "Unauthorized"
        while unauthorized not in process.log_text():
            scene.create_pods(1)
            wait_for("a bind or a refusal", lambda: scene.all_bound() or unauthorized in process.log_text())
        both.write_bytes(after)
        scene.create_pods(scene.size.pods - len(scene.api.items("pods")))
        scene.wait_until_all_are_bound(process)
    scene.audit()


def test_the_authority_of_the_api_server_is_rotated(scene: Scene) -> None:
    plane = scene.plane
    with Gateway(plane.url, plane.ca_file, scene.folder) as gateway:
        believed = scene.folder / "believed.crt"
        believed.write_bytes(gateway.ca_file.read_bytes())
        with scene.scheduler(scene.kubeconfig("moorage", gateway.url, believed)) as process:
            half = scene.size.pods // 2
            scene.create_pods(half)
            scene.wait_until_all_are_bound(process)
            gateway.rotate()
            believed.write_bytes(gateway.ca_file.read_bytes())
            gateway.inject("", b"", then_cut=True)
            scene.create_pods(half)
            scene.wait_until_all_are_bound(process)
    scene.audit()
