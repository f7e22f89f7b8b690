"""CustomResourceDefinitions and their objects, beside the real API server."""

import pytest

from tests.controlplane.servers import wait_for
from tests.embedded.comparing import Pair

DEFINITION = "crd/crontabs.stable.example.com"


@pytest.fixture(scope="module", autouse=True)
def definition(pair: Pair) -> None:
    """The definition of CronTabs, served by both."""
    pair.compare(f"""
        apply -f crontabs.yaml
        wait --for=condition=Established {DEFINITION}
    """)

    def served() -> bool:
        return all(result.code == 0 for result in pair.on_both("get crontabs"))

    wait_for("an answer about crontabs", served)


def test_the_definition(pair: Pair) -> None:
    pair.compare(f"""
        apply -f crontabs.yaml
        get {DEFINITION}
        get {DEFINITION} -o yaml
        api-resources --api-group=stable.example.com -o wide
        get crd
        create -f bad-definitions.yaml
        annotate {DEFINITION} note=x
    """)


def test_objects(pair: Pair) -> None:
    pair.compare("""
        apply -f crontab.yaml
        apply -f crontab.yaml
        get crontabs
        get ct one -o wide
        get crontab.stable.example.com/one -o yaml --show-managed-fields
        get crontabs.v1.stable.example.com -o name
        get all
        get ct -l app=cron
        get ct --field-selector=metadata.name=one
        get ct --field-selector=spec.image=busybox
        get ct --field-selector=spec.image=nothing
        get ct --field-selector=spec.cronSpec=nothing
        get ct --sort-by=.spec.cronSpec
        describe ct one
        diff -f crontab.yaml
        apply -f crontab-changed.yaml
        apply -f crontab-changed.yaml
        get ct one -o yaml --show-managed-fields
        patch ct one --type=merge -p '{"spec":{"replicas":3}}'
        patch ct one --type=merge -p '{"spec":{"replicas":30}}'
        patch ct one --type=merge -p '{"spec":{"replicas":"x"}}'
        patch ct one --type=json -p '[{"op":"replace","path":"/spec/image","value":"x"}]'
        patch ct one -p '{"spec":{"replicas":3}}'
        patch ct one --type=merge -p '{"spec":{"note":null,"unknown":1}}'
        patch ct one --type=merge -p '{"status":{"replicas":2}}'
        get ct one -o jsonpath={.status}
        patch ct one --subresource=status --type=merge -p '{"status":{"replicas":2},"spec":{"replicas":9}}'
        patch ct one --subresource=status --type=merge -p '{"status":{"labelSelector":"a=b"}}'
        get ct one -o yaml --show-managed-fields
        get ct one --subresource=scale -o yaml
        scale ct one --replicas=5
        scale ct one --replicas=50
        get ct one -o wide
        label ct one a=b
        annotate ct one a=b
        apply --server-side -f crontab.yaml
        apply --server-side -f crontab.yaml --force-conflicts
        get ct one -o yaml --show-managed-fields
        wait --for=jsonpath={.spec.replicas}=5 ct/one --timeout=0s
        replace -f crontab.yaml
        create -f bad-crontabs.yaml
        create -f bad-crontabs.yaml --validate=warn --dry-run=server
        create -f bad-crontabs.yaml --validate=ignore --dry-run=server
        auth can-i get crontabs --as=jane
        get ct --as=jane
        delete ct one
        delete ct one
        get ct
    """)


def test_the_end_of_the_definition(pair: Pair) -> None:
    pair.prepare("apply -f crontab.yaml")
    pair.compare(f"""
        delete {DEFINITION}
        get crontabs
        get {DEFINITION}
        apply -f crontab.yaml
    """)
