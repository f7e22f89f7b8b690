"""What kubectl reads: `get` in all its forms, `describe`, `events`, `api-resources`, beside the real API server."""

import pytest

from tests.embedded.comparing import Pair, mask

NAMESPACED = """
    configmaps controllerrevisions csistoragecapacities daemonsets deployments endpoints endpointslices events
    leases limitranges persistentvolumeclaims poddisruptionbudgets pods podtemplates replicasets
    replicationcontrollers resourceclaims resourceclaimtemplates resourcequotas rolebindings roles secrets
    serviceaccounts services statefulsets
""".split()
CLUSTER_WIDE = """
    csidrivers csinodes deviceclasses namespaces nodes persistentvolumes priorityclasses resourceslices
    storageclasses volumeattachments volumeattributesclasses
""".split()
RBAC = ["clusterrole node-reader all-readers", "clusterrolebinding node-reader"]
"""Named, as the real server has more built-in ones."""
QUERIES = [*(f"{each} -n shop" for each in NAMESPACED), *CLUSTER_WIDE, *RBAC]


@pytest.fixture(scope="module", autouse=True)
def objects(pair: Pair) -> None:
    pair.prepare("create -f kinds.yaml")


def get_all(form: str) -> str:
    return "\n".join(f"get {query} {form}" for query in QUERIES)


def test_every_kind_as_a_table(pair: Pair) -> None:
    pair.compare(get_all(""))


def test_every_kind_as_a_wide_table(pair: Pair) -> None:
    pair.compare(get_all("-o wide --show-labels"))


def test_every_kind_as_yaml(pair: Pair) -> None:
    pair.compare(get_all("-o yaml --show-managed-fields"))
