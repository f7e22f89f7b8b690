"""Jobs and CronJobs as objects: the same answers as those of the real API server."""

import json

from tests.embedded.comparing import Pair, mask

_STATUS = "--subresource=status --type=merge"
_RAW = mask(r'^\{"(kind|apiVersion)":.*"finalizers":\["orphan"\].*$', "<orphaning>")
_TEMPLATES = mask(
    r"Invalid value: \{.*\}: field is immutable$", "Invalid value: <template>: field is immutable"
)


def test_jobs_that_are_refused(pair: Pair) -> None:
    pair.compare("""
        create -f bad-jobs.yaml
        create -f bad-jobs.yaml --validate=ignore --dry-run=server
    """)


def test_jobs_that_are_accepted(pair: Pair) -> None:
    pair.compare(
        """
        create -f jobs.yaml
        get jobs
        get jobs -o wide
        get cronjobs -o wide
        get cj
        get all
        get jobs,cronjobs -o yaml
        get jobs,cronjobs -o yaml --show-managed-fields
        get jobs --field-selector=status.successful=0 -o name
        get jobs --field-selector=status.successful=1 -o name
        get jobs -l app=work
        describe job plain
        describe job indexed
        describe cronjob weekdays
        create job one --image=nginx
        create job two --image=nginx -- sleep 5
        create cronjob three --image=nginx --schedule='* * * * *' -- date
        create job four --from=cronjob/hourly
        get job four -o yaml
        create job five --from=cronjob/none
        create cronjob six --image=nginx --schedule='* * * *'
        apply -f jobs.yaml --dry-run=server
        apply --server-side -f jobs.yaml --force-conflicts
        get jobs,cronjobs -o yaml --show-managed-fields
        delete job four
        delete job five
        delete cronjob six
        delete job one --cascade=orphan --wait=false
        get job one -o yaml
        delete --raw /apis/batch/v1/namespaces/default/jobs/two
        get job two -o yaml
    """,
        _RAW,
    )


def test_what_may_change_in_a_job(pair: Pair) -> None:
    pair.prepare("apply -f jobs.yaml")

    def patched(name: str, **spec: object) -> str:
        return f"patch {name} --type=merge -p '{json.dumps({'spec': spec})}'"

    pod = {"containers": [{"name": "main", "image": "nginx", "resources": {"limits": {"cpu": "1"}}}]}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]
        }
    }
    pair.compare_all(
        (
            patched("job/plain", parallelism=3, backoffLimit=2, activeDeadlineSeconds=5, suspend=True),
            patched("job/plain", completions=2),
            patched("job/plain", completionMode="Indexed"),
            patched("job/plain", backoffLimitPerIndex=1),
            patched("job/plain", managedBy="example.com/me"),
            patched("job/plain", selector={"matchLabels": {"a": "b"}}),
            patched("job/plain", selector=None),
            patched("job/plain", ttlSecondsAfterFinished=100, podReplacementPolicy="Failed"),
            patched("job/labelled", template={"spec": {"terminationGracePeriodSeconds": 1}}),
            patched("job/labelled", template={"metadata": {"labels": {"job-name": "x"}}}),
            patched("job/labelled", podFailurePolicy={"rules": []}),
            patched("job/indexed", completions=5),
            patched("job/indexed", completions=2, parallelism=2),
            patched("job/indexed", successPolicy=None),
            patched("job/held", template={"spec": {"nodeSelector": {"a": "b"}}}),
            patched("job/held", template={"spec": {"affinity": {"nodeAffinity": affinity}}}),
            patched("job/held", template={"spec": {"affinity": None, "tolerations": [{"key": "a"}]}}),
            patched("job/held", template={"spec": pod}),
            patched("job/held", template={"spec": {"terminationGracePeriodSeconds": 1}}),
            patched("job/held", template={"metadata": {"labels": {"more": "labels"}}}),
            patched("job/held", template={"metadata": {"annotations": {"more": "notes"}}}),
            patched("cronjob/hourly", schedule="@daily", timeZone="Asia/Tokyo", suspend=True),
            patched("cronjob/hourly", schedule="nonsense"),
            patched("cronjob/hourly", schedule="TZ=UTC 0 0 * * *"),
            patched("cronjob/hourly", timeZone="Nowhere"),
            patched("cronjob/hourly", jobTemplate={"spec": {"completions": 4}}),
            "label job plain a=b",
            "annotate job plain a-",
            "get jobs,cronjobs -o yaml",
        ),
        _TEMPLATES,
    )


def test_what_the_status_of_a_job_may_become(pair: Pair) -> None:
    pair.prepare("apply -f jobs.yaml")
    start, later = "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"

    def told(name: str, *conditions: str, **status: object) -> str:
        true = [{"type": each, "status": "True"} for each in conditions]
        body = {"status": {**status, **({"conditions": true} if true else {})}}
        return f"patch job {name} {_STATUS} -p '{json.dumps(body)}'"

    pair.compare_all(
        (
            told("labelled", active=-1, ready=-1, failed=-1, succeeded=-1, terminating=-1),
            told("labelled", active=1, ready=2),
            told("labelled", "Complete"),
            told("labelled", "Failed", startTime=start),
            told("labelled", "Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"),
            told("labelled", completionTime=start),
            told("labelled", "Complete", "SuccessCriteriaMet", startTime=later, completionTime=start),
            told("labelled", "SuccessCriteriaMet", "FailureTarget"),
            told("labelled", completedIndexes="1", failedIndexes="2"),
            told("labelled", uncountedTerminatedPods={"succeeded": ["a", "a", ""], "failed": ["a"]}),
            told("labelled", active=2, ready=1, failed=1, succeeded=2, terminating=1, startTime=start),
            "get jobs labelled",
            told("labelled", failed=0),
            told("labelled", succeeded=1),
            told("labelled", startTime=later),
            told("labelled", "FailureTarget"),
            "get jobs labelled",
            told("labelled", "Failed", "FailureTarget"),
            told("labelled", "Failed", "FailureTarget", active=0, ready=0, terminating=0),
            "get jobs labelled -o wide",
            told("labelled", "Failed"),
            told("labelled", conditions=[]),
            told("indexed", completedIndexes="3", failedIndexes="0-9"),
            told("indexed", completedIndexes="1,0"),
            told("indexed", completedIndexes="0,1", failedIndexes="1-2"),
            told("indexed", completedIndexes="0,2", failedIndexes="1", startTime=start, succeeded=2),
            told("indexed", "Complete", completionTime=later),
            told("indexed", "SuccessCriteriaMet"),
            told("indexed", conditions=[]),
            told("indexed", "Complete", "SuccessCriteriaMet", completionTime=later),
            told("indexed", completionTime=start),
            "get jobs",
            "get jobs -o yaml",
            f'patch cronjob hourly {_STATUS} -p \'{{"status": {{"lastScheduleTime": "{start}"}}}}\'',
            f'patch cronjob hourly {_STATUS} -p \'{{"status": {{"active": [{{"name": "x"}}]}}}}\'',
            "get cronjobs",
            "get cronjobs -o yaml",
        )
    )


def test_rights_on_jobs(pair: Pair) -> None:
    pair.prepare("apply -f roles.yaml")
    pair.compare("""
        auth can-i create jobs -n team --as=ed
        auth can-i create cronjobs.batch -n team --as=adam
        auth can-i get jobs -n team --as=vi
        auth can-i get jobs --subresource=status -A --as=vi
        auth can-i create jobs -n team --as=vi
        auth can-i patch jobs --subresource=status -n team --as=ed
        create job x --image=nginx -n team --as=vi
        api-resources --api-group=batch
    """)
