"""What the documents of the API look like, as JSON Schema."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
ANYTHING: Schema = {"type": "object"}
TEXTS: Schema = {"type": "array", "items": TEXT}
WHOLES: Schema = {"type": "array", "items": WHOLE}


def said(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def many(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def by_name(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*texts: str) -> Schema:
    return {"type": "string", "enum": list(texts)}


def made_of(fields: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object with these fields and no others; the first ones are always there."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
        "additionalProperties": False,
    }


_SECONDS_SINCE = said(NUMBER, "Seconds since the epoch.")
_CONTINUE = {"continue": said(TEXT, "For the next page; absent on the last.")}

_COUNTS = made_of(dict.fromkeys(("active", "backoff", "unschedulable", "gated", "inFlight"), WHOLE))

_OWNER = maybe(made_of({"kind": TEXT, "name": TEXT}))

_SUMMARY_FIELDS: dict[str, Schema] = {
    "number": said(WHOLE, "Counts from 1 on."),
    "time": _SECONDS_SINCE,
    "pod": ref("PodName"),
    "profile": TEXT,
    "try": said(WHOLE, "Which attempt of this pod it was."),
    "wokenBy": said(TEXT, "The event for which it was tried."),
    "outcome": one_of("assumed", "bound", "unschedulable", "nominated", "error", "refused", "withdrawn"),
    "node": said(TEXT, "Chosen, or nominated by preemption; empty if neither."),
    "message": said(TEXT, "As in the pod's condition."),
    "plugins": said(TEXTS, "Those that rejected."),
    "nodes": said(WHOLE, "How many there were."),
    "lookedAt": WHOLE,
    "feasible": WHOLE,
    "ties": said(WHOLE, "How many nodes had the best score."),
    "score": maybe(WHOLE),
    "seconds": NUMBER,
    "after": maybe(ref("After")),
}

_OF_GANG: dict[str, Schema] = {"gang": said(TEXT, "The gang of the pod, as `namespace/name`.")}

_GANG = said(
    made_of(
        {"name": TEXT, "exists": FLAG, "fits": said(FLAG, "Whether enough members have a node, or would.")},
        {
            "minimum": said(WHOLE, "So many members have a node, or none has."),
            "topology": said(TEXT, "The label of which all their nodes have the same value; mostly empty."),
            "members": WHOLE,
            "running": said(WHOLE, "Members that have a node."),
            "waiting": WHOLE,
            "gated": WHOLE,
            "message": said(TEXT, "What the gang lacks."),
            "alone": said(FLAG, "Whether what would help was tried with the pod alone, without its gang."),
            "victims": said(TEXTS, "Those who would have to go for it."),
            "nodes": said(TEXTS, "Where they would have to."),
        },
    ),
    "The gang of a pod, as `namespace/name`; for one that does not exist, nothing more is known.",
)

_NODE_SCORES = maybe(
    many(maybe(made_of({}, {"raw": maybe(WHOLE), "normalized": maybe(WHOLE), "weighted": maybe(WHOLE)})))
)

_TRY: dict[str, Schema] = {
    "feasible": said(TEXTS, "The nodes that fit."),
    "pod": said(ANYTHING, "The pod as it was tried."),
    "nodes": said(WHOLE, "How many there are."),
    "onNode": said(TEXT, "Where the pod is now, if it has a node."),
    "failedPlugins": said(TEXTS, "Plugins that raised, or answered what they must not."),
    "words": TEXTS,
}

_EVALUATION: dict[str, Schema] = {
    "preEnqueue": said(ANYTHING, "The plugin that would keep the pod out of the queue."),
    "preFilter": ANYTHING,
    "filter": said(by_name(by_name(ref("Verdict"))), "By node and plugin."),
    "nodeStatus": said(by_name(ref("Verdict")), "By node, why it was rejected."),
    "nominatedFirst": FLAG,
    "skippedScores": TEXTS,
    "scores": said(by_name(by_name(made_of({"raw": WHOLE, "weighted": WHOLE}))), "By node and plugin."),
    "extenderScores": by_name(by_name(WHOLE)),
    "totals": said(by_name(WHOLE), "By node."),
    "best": said(TEXTS, "The nodes with the highest total."),
    "postFilter": said(ANYTHING, "What preemption found."),
    "message": said(TEXT, "As the pod's condition would say it."),
    "schedulerError": made_of({"phase": TEXT, "message": TEXT}),
    "closest": maybe(ref("Closest")),
    "advice": many(ref("Suggestion")),
    "gang": ref("Gang"),
    "notes": said(TEXTS, "What the answer leaves out."),
}

SCHEMAS: dict[str, Schema] = {
    "Status": said(
        made_of(
            {
                "kind": one_of("Status"),
                "apiVersion": one_of("v1"),
                "metadata": ANYTHING,
                "status": one_of("Failure"),
                "message": said(TEXT, "One line that says what to do."),
                "reason": TEXT,
                "code": WHOLE,
            },
            {"details": ANYTHING},
        ),
        "Why there is no other answer.",
    ),
    "PodName": made_of({"namespace": TEXT, "name": TEXT, "uid": TEXT}),
    "After": said(
        made_of({"time": _SECONDS_SINCE, "seconds": NUMBER, "by": TEXT, "message": TEXT}),
        "What happened after a node was chosen: `by` is who refused it. It is withdrawn if too few members "
        "of the gang of the pod got one.",
    ),
    "Summary": made_of(
        {
            "version": said(TEXT, "Of Moorage."),
            "started": _SECONDS_SINCE,
            "now": _SECONDS_SINCE,
            "leads": said(FLAG, "Whether this process schedules."),
            "profiles": many(
                made_of(
                    {
                        "name": TEXT,
                        "plugins": said(
                            by_name(many({"anyOf": [TEXT, made_of({"name": TEXT, "weight": WHOLE})]})),
                            "By extension point; those that score with their weight.",
                        ),
                    }
                )
            ),
            "nodes": WHOLE,
            "placedPods": WHOLE,
            "queue": ref("QueueCounts"),
            "rates": said(
                made_of(dict.fromkeys(("attemptsPerSecond", "boundPerSecond", "failedPerSecond"), NUMBER)),
                "Over the last ten seconds.",
            ),
            "log": made_of(dict.fromkeys(("attempts", "oldest", "newest", "bytes", "limitBytes"), WHOLE)),
        }
    ),
    "QueueCounts": _COUNTS,
    "Nodes": said(
        made_of(
            {
                "names": TEXTS,
                "resources": TEXTS,
                "allocatable": by_name(WHOLES),
                "requested": by_name(WHOLES),
                "unschedulable": many(FLAG),
                "taints": said(many(TEXTS), "As `key=value:Effect`."),
                "labelKeys": said(TEXTS, "Of all nodes."),
                "labels": by_name(made_of({"values": TEXTS, "codes": said(WHOLES, "0: no such label.")})),
                "version": said(WHOLE, "Changes with all but the usage."),
            },
            _CONTINUE,
        ),
        "Columns over the nodes in the scheduler's order. Cpu in millicores, all else in whole units.",
    ),
    "QueuedPod": made_of(
        {
            "pod": ref("PodName"),
            "where": one_of("active", "backoff", "unschedulable", "gated"),
            "profile": TEXT,
            "priority": WHOLE,
            "since": said(NUMBER, "When it was made."),
            "firstAttempt": maybe(_SECONDS_SINCE),
            "tries": WHOLE,
            "plugins": said(TEXTS, "Those that rejected it."),
            "message": TEXT,
            "waitsFor": said(TEXTS, "The events that have it tried again."),
            "nominatedNode": TEXT,
            "backoffUntil": maybe(_SECONDS_SINCE),
            "gatedBy": TEXT,
            "lastAttempt": maybe(WHOLE),
            "owner": _OWNER,
        }
    ),
    "Queue": made_of({"counts": ref("QueueCounts"), "pods": many(ref("QueuedPod"))}, _CONTINUE),
    "Pending": made_of(
        {
            "pods": WHOLE,
            "groups": said(
                many(
                    made_of(
                        {
                            "cause": TEXT,
                            "message": TEXT,
                            "plugins": TEXTS,
                            "count": WHOLE,
                            "oldest": _SECONDS_SINCE,
                            "tries": WHOLE,
                            "waitsFor": TEXTS,
                            "pods": said(TEXTS, "At most ten."),
                        },
                        {"advice": maybe(ref("Suggestion")), "gang": ref("Gang")},
                    )
                ),
                "The largest first.",
            ),
        },
        {
            "best": said(
                maybe(made_of({"suggestion": ref("Suggestion"), "frees": WHOLE, "pods": TEXTS})),
                "The one change that would free the most pods.",
            )
        },
    ),
    "AttemptSummary": made_of(_SUMMARY_FIELDS, _OF_GANG),
    "Attempts": made_of({"attempts": said(many(ref("AttemptSummary")), "The newest first.")}, _CONTINUE),
    "Attempt": made_of(
        {
            **_SUMMARY_FIELDS,
            "filters": many(
                made_of({"plugin": TEXT, "rejected": WHOLE, "reasons": by_name(WHOLE), "skipped": FLAG})
            ),
            "scores": many(
                made_of(
                    {
                        "plugin": TEXT,
                        "weight": WHOLE,
                        "skipped": FLAG,
                        "chosen": maybe(WHOLE),
                        "best": maybe(WHOLE),
                        "worst": maybe(WHOLE),
                    }
                )
            ),
            "extenders": many(made_of({"name": TEXT, "chosen": maybe(WHOLE)})),
            "preFilter": made_of(
                {"status": TEXT, "plugin": TEXT, "reasons": TEXTS, "narrowedTo": maybe(WHOLE)}
            ),
            "second": maybe(made_of({"node": TEXT, "score": WHOLE, "by": WHOLE})),
            "tippedBy": maybe(made_of({"plugin": TEXT, "weight": WHOLE, "newWeight": NUMBER, "then": TEXT})),
            "preemption": made_of(
                {
                    "candidates": many(made_of({"node": TEXT, "victims": TEXTS, "pdbViolations": WHOLE})),
                    "nominated": TEXT,
                }
            ),
            "took": many(made_of({"point": TEXT, "seconds": NUMBER}, {"plugin": TEXT})),
        },
        _OF_GANG,
    ),
    "Matrix": made_of(
        {
            "columns": many(made_of({}, {"plugin": TEXT, "weight": WHOLE, "extender": TEXT})),
            "total": WHOLE,
            "matching": WHOLE,
            "rows": many(
                made_of(
                    {
                        "node": TEXT,
                        "fits": said(maybe(FLAG), "null: the node was not looked at."),
                        "scores": said(_NODE_SCORES, "In the order of the columns."),
                    },
                    {
                        "total": maybe(WHOLE),
                        "rank": maybe(WHOLE),
                        "chosen": FLAG,
                        "plugin": TEXT,
                        "code": TEXT,
                        "reasons": TEXTS,
                    },
                )
            ),
        },
        _CONTINUE,
    ),
    "Closest": said(
        made_of(
            {},
            {
                "node": TEXT,
                "resource": TEXT,
                "short": TEXT,
                "also": ANYTHING,
                "tooLarge": TEXT,
                "taints": by_name(WHOLE),
            },
        ),
        "The node that lacks least, and the taints that stop the pod.",
    ),
    "Pod": made_of(
        {
            "pod": ref("PodName"),
            "state": one_of("pending", "placed", "binding", "gated", "unknown"),
            "node": TEXT,
            "since": maybe(_SECONDS_SINCE),
            "tries": WHOLE,
            "queue": maybe(ref("QueuedPod")),
            "last": maybe(ref("Attempt")),
            "attempts": many(ref("AttemptSummary")),
            "closest": maybe(ref("Closest")),
            "advice": many(ref("Suggestion")),
            "words": TEXTS,
        },
        {
            "owner": _OWNER,
            "schedulerName": said(TEXT, "Of a pod that is another scheduler's."),
            "gang": ref("Gang"),
        },
    ),
    "Gang": _GANG,
    "Verdict": made_of({"code": TEXT}, {"plugin": TEXT, "reasons": TEXTS}),
    "Suggestion": made_of(
        {
            "text": said(TEXT, "A clause after `It would fit if:`."),
            "then": one_of("fits", "preempts"),
            "nodes": TEXTS,
            "change": said(
                many(
                    {
                        "anyOf": [
                            made_of({"patch": ref("Address"), "operations": many(ANYTHING)}),
                            made_of({"create": ANYTHING}),
                            made_of({"delete": ref("Address")}),
                        ]
                    }
                ),
                "What has to be done; operations are RFC 6902.",
            ),
        },
        {"where": said(ANYTHING, "The template in which the change belongs.")},
    ),
    "Address": made_of({"kind": TEXT, "name": TEXT}, {"namespace": TEXT}),
    "TryBody": made_of(
        {
            "pod": said(
                {"anyOf": [ANYTHING, TEXT]},
                "A pod, its text (YAML or JSON), or `namespace` and `name` of one that the scheduler knows.",
            )
        },
        {
            "set": said(TEXTS, "Fields of the pod, as `spec.priority=10`."),
            "tolerate": said(TEXTS, "Taints, as `KEY[=VALUE][:EFFECT]`."),
            "extraNodes": said(many(ANYTHING), "Nodes that would be there, too."),
            "withoutPods": said(TEXTS, "Pods that would not be there, as `namespace/name`."),
            "config": said(TEXT, "A KubeSchedulerConfiguration as YAML."),
            "advise": said(FLAG, "Whether to say what would help."),
        },
    ),
    "Try": said(
        made_of(_TRY, _EVALUATION), "What `moorage evaluate -o json` prints for the pod on this state."
    ),
    "CompareBody": made_of({"config": said(TEXT, "A KubeSchedulerConfiguration as YAML.")}),
    "Compare": made_of(
        {
            "pods": said(WHOLE, "How many were compared: waiting ones, and the newest placed ones."),
            "same": WHOLE,
            "changes": many(
                made_of(
                    {
                        "pod": TEXT,
                        "now": maybe(TEXT),
                        "then": maybe(TEXT),
                        "nowScore": maybe(WHOLE),
                        "thenScore": maybe(WHOLE),
                        "why": said(TEXT, "The plugin that tips it."),
                    }
                )
            ),
        },
        {"notCompared": said(WHOLE, "Pods for which there was no time.")},
    ),
    "Plugins": made_of(
        {
            "plugins": many(
                made_of(
                    {
                        "name": TEXT,
                        "inTree": FLAG,
                        "points": many(
                            made_of(
                                {
                                    "point": TEXT,
                                    "calls": WHOLE,
                                    "samples": said(WHOLE, "Calls that were timed."),
                                    "seconds": said(NUMBER, "Of all that were timed."),
                                    "mean": NUMBER,
                                    "p99": NUMBER,
                                }
                            )
                        ),
                        "failures": WHOLE,
                        "slow": WHOLE,
                    }
                )
            )
        }
    ),
    "StreamAttempts": made_of({"attempts": many(ref("AttemptSummary")), "missed": WHOLE}),
    "StreamOutcomes": many(
        made_of({"number": WHOLE, "outcome": TEXT, "node": TEXT, "after": maybe(ref("After"))})
    ),
    "StreamUsage": made_of(
        {"version": WHOLE, "requested": by_name(WHOLES)},
        {"rows": said(WHOLES, "Which rows of the nodes; absent if all."), "all": FLAG},
    ),
}
