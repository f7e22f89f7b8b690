"""Controllers in several processes: one at a time, whichever leads, with the rights of manifests."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.client.connection import find
from moorage.client.errors import NotFound
from moorage.client.http import HttpClient
from moorage.contrib.objects import GROUP_LABEL
from moorage.testing import ApiServer, make_pod
from tests.contrib import stand_ins
from tests.contrib.worlds import group
from tests.controlplane.schedulers import deployed_configuration
from tests.controlplane.servers import Program, wait_for

LEASE = "sched-plugins-controllers"
QUICK = {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}


class Deployed:
    """A scheduler with gangs as `moorage manifests` deploys it, but as a process."""

    def __init__(self, api: ApiServer, name: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        text = _printed(folder, "manifests", "--with=coscheduling", f"--name={name}")
        # Nothing here could run the Deployment.
        api.apply([each for each in yaml.safe_load_all(text) if each["kind"] != "Deployment"])
        kubeconfig = folder / f"{name}.kubeconfig"
        kubeconfig.write_text(json.dumps(_kubeconfig(api, _token(api, name))))
        config = yaml.safe_load(deployed_configuration(text))
        config["clientConnection"] = {"kubeconfig": str(kubeconfig)}
        config["leaderElection"] |= QUICK
        self._config = folder / f"{name}.yaml"
        self._config.write_text(json.dumps(config))

    def start(self) -> Program:
        flags = ("run", f"--config={self._config}", "--secure-port=0", "-v=2")
        return Program(Path(sys.executable), (stand_ins.__file__, *flags), self._folder / f"{self.name}.log")


def _printed(folder: Path, *flags: str) -> str:
    program = Program(Path(sys.executable), (stand_ins.__file__, *flags), folder / "printed.log")
    assert program.exit_code(60) == 0, program.log_end()
    return program.log_text()


def _token(api: ApiServer, name: str) -> str:
    async def ask() -> Any:
        async with HttpClient(find(str(api.kubeconfig))) as http:
            path = f"/api/v1/namespaces/kube-system/serviceaccounts/{name}/token"
            return await http.request_json("POST", path, {"spec": {}})

    token: str = asyncio.run(ask())["status"]["token"]
    return token


def _kubeconfig(api: ApiServer, token: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(api.kubeconfig.read_text())
    document["users"][0]["user"] = {"token": token}
    return document


def holder(api: ApiServer, lease: str) -> str:
    try:
        spec = api.get("lease", lease, namespace="kube-system")["spec"]
    except NotFound:
        return ""
    return str(spec.get("holderIdentity") or "")


@pytest.fixture
def both(api: ApiServer, tmp_path: Path) -> Iterator[list[Deployed]]:
    yield [Deployed(api, name, tmp_path) for name in ("one", "two")]


def test_another_process_than_the_leader_has_the_controllers(api: ApiServer, both: list[Deployed]) -> None:
    def phase_is(phase: str) -> bool:
        found: dict[str, Any] = api.get("podgroup", "gang", namespace="default")
        return bool(found.get("status", {}).get("phase") == phase)

    one, two = (each.start() for each in both)
    try:
        wait_for("both schedulers lead", lambda: holder(api, "one") and holder(api, "two"))
        first = wait_for("somebody has the controllers", lambda: holder(api, LEASE))
        api.create({**group("gang", 1), "metadata": {"name": "gang", "namespace": "default"}})
        wait_for("the group is pending", lambda: phase_is("Pending"))
        # The lease tells the process by an identity that only its log has.
        leads = f'Successfully acquired lease" lock="kube-system/{LEASE}"'
        [loser] = [each for each in (one, two) if leads not in each.log_text()]
        [winner] = [each for each in (one, two) if each is not loser]
        winner.stop()
        second = wait_for("the other takes over", lambda: (now := holder(api, LEASE)) != first and now)
        assert second
        api.create(make_pod("a", labels={GROUP_LABEL: "gang"}, scheduler="nobody"))
        wait_for("the group is scheduling", lambda: phase_is("Scheduling"))
    finally:
        for each in (one, two):
            each.stop()
    assert holder(api, LEASE) == ""
    for each in (one, two):
        log = each.log_text()
        assert "Missing permission" not in log
        assert "forbidden" not in log.lower()
        assert "Traceback" not in log
