"""DaemonSets, ReplicationControllers, Jobs and CronJobs on `moorage up`, by kubectl."""

import json
from typing import Any

from tests.controlplane.servers import wait_for
from tests.embedded.clusters import Kubectl

DAEMON_SET = """
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  updateStrategy: {rollingUpdate: {maxUnavailable: 100%}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: c, image: "nginx:1"}]}}
"""
CONTROLLER = """
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec: {replicas: 1, template: {metadata: {labels: {app: rc}}, spec: {containers: [{name: c, image: nginx}]}}}
"""
JOB = """
apiVersion: batch/v1
kind: Job
metadata: {{name: {name}}}
spec:
  backoffLimit: 0
  {spec}
  template:
    metadata: {{annotations: {{moorage/exit-code: "{code}", moorage/finish: "{finish}"}}}}
    spec: {{restartPolicy: Never, containers: [{{name: c, image: nginx}}]}}
"""
SECONDS = "--timeout=40s"


def job(name: str, *, code: int = 0, finish: str = "true", spec: str = "") -> str:
    return JOB.format(name=name, code=code, finish=finish, spec=spec)


def get(kubectl: Kubectl, *arguments: str) -> Any:
    return json.loads(kubectl("get", *arguments, "-o", "json"))


def test_a_daemon_set_is_rolled_out_and_back(kubectl: Kubectl) -> None:
    nodes = {each["metadata"]["name"] for each in get(kubectl, "nodes")["items"]}
    kubectl("apply", "-f", "-", input=DAEMON_SET)
    kubectl("rollout", "status", "ds/d", SECONDS)
    pods = get(kubectl, "pods", "-l", "app=d")["items"]
    assert {pod["spec"]["nodeName"] for pod in pods} == nodes
    assert len(pods) == len(nodes)
    kubectl("set", "image", "ds/d", "c=nginx:2")
    kubectl("rollout", "status", "ds/d", SECONDS)
    history = kubectl("rollout", "history", "ds/d").split()
    assert [word for word in history if word.isdigit()] == ["1", "2"]
    kubectl("rollout", "undo", "ds/d")
    kubectl("rollout", "status", "ds/d", SECONDS)
    pods = get(kubectl, "pods", "-l", "app=d")["items"]
    images = {
        pod["spec"]["containers"][0]["image"] for pod in pods if "deletionTimestamp" not in pod["metadata"]
    }
    assert images == {"nginx:1"}
    kubectl("delete", "ds", "d", "--cascade=foreground")
    assert get(kubectl, "pods,controllerrevisions", "-l", "app=d")["items"] == []


def test_a_replication_controller_scales_and_leaves_its_pods(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", input=CONTROLLER)
    kubectl("scale", "rc", "rc", "--replicas=3")
    kubectl("wait", "rc/rc", "--for=jsonpath={.status.readyReplicas}=3", SECONDS)
    kubectl("delete", "rc", "rc", "--cascade=orphan")
    pods = get(kubectl, "pods", "-l", "app=rc")["items"]
    assert [pod["metadata"].get("ownerReferences") for pod in pods] == [None] * 3
    kubectl("delete", "pods", "-l", "app=rc")


def test_jobs_end_well_or_badly(kubectl: Kubectl) -> None:
    indexed = job("indexed", spec="completionMode: Indexed\n  completions: 3\n  parallelism: 2")
    kubectl("apply", "-f", "-", input="---".join((job("failing", code=3), indexed)))
    kubectl("create", "job", "plain", "--image=nginx", "--", "date")
    kubectl("wait", "job/plain", "job/indexed", "--for=condition=complete", SECONDS)
    kubectl("wait", "job/failing", "--for=condition=failed", SECONDS)
    assert get(kubectl, "job", "indexed")["status"]["completedIndexes"] == "0-2"
    statuses = {line.split()[0]: line.split()[1:3] for line in kubectl("get", "jobs").splitlines()}
    assert statuses["plain"] == ["Complete", "1/1"]
    assert statuses["failing"] == ["Failed", "0/1"]
    assert "BackoffLimitExceeded" in kubectl("describe", "job", "failing")
    pods = get(kubectl, "pods", "-l", "job-name")["items"]
    assert not any(pod["metadata"].get("finalizers") for pod in pods)
    kubectl("delete", "jobs", "--all")
    wait_for("the pods to go", lambda: not get(kubectl, "pods", "-l", "job-name")["items"])


def test_a_job_is_suspended_and_deleted_while_it_runs(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", input=job("long", finish="false", spec="parallelism: 2"))
    kubectl("wait", "job/long", "--for=jsonpath={.status.ready}=2", SECONDS)
    kubectl("patch", "job", "long", "-p", '{"spec":{"suspend":true}}')
    kubectl("wait", "job/long", "--for=condition=Suspended", SECONDS)
    wait_for("the pods to go", lambda: not get(kubectl, "pods", "-l", "job-name=long")["items"])
    kubectl("patch", "job", "long", "-p", '{"spec":{"suspend":false}}')
    kubectl("wait", "job/long", "--for=jsonpath={.status.ready}=2", SECONDS)
    kubectl("delete", "job", "long")
    wait_for("the pods to go", lambda: not get(kubectl, "pods", "-l", "job-name=long")["items"])


def test_a_cron_job_makes_jobs(kubectl: Kubectl) -> None:
    kubectl("create", "cronjob", "often", "--image=nginx", "--schedule=@every 1s")
    kubectl("create", "job", "by-hand", "--from=cronjob/often")
    kubectl("wait", "job/by-hand", "--for=condition=complete", SECONDS)
    wait_for(
        "a time of success", lambda: get(kubectl, "cronjob", "often")["status"].get("lastSuccessfulTime")
    )
    [owner] = get(kubectl, "job", "by-hand")["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("CronJob", "often")
    kubectl("delete", "cronjob", "often")
    wait_for("the jobs to go", lambda: not get(kubectl, "jobs")["items"])
