/**
 * The documents of the HTTP API, as types. Nothing here runs.
 *
 * @typedef {{ code: number, reason: string, message: string }} Status
 * @typedef {{ namespace: string, name: string, uid: string }} PodName
 * @typedef {"assumed" | "bound" | "unschedulable" | "nominated" | "error" | "refused" | "withdrawn"} Outcome
 * @typedef {"active" | "backoff" | "unschedulable" | "gated"} Where
 * @typedef {{ active: number, backoff: number, unschedulable: number, gated: number, inFlight: number }} Counts
 */

/**
 * @typedef {object} Summary
 * @property {string} version
 * @property {number} started
 * @property {number} now
 * @property {boolean} leads
 * @property {{ name: string, plugins: { filter: string[], score: { name: string, weight: number }[], postFilter: string[] } }[]} profiles
 * @property {number} nodes
 * @property {number} placedPods
 * @property {Counts} queue
 * @property {{ attemptsPerSecond: number, boundPerSecond: number, failedPerSecond: number }} rates
 * @property {{ attempts: number, oldest: number, newest: number, bytes: number, limitBytes: number }} log
 */

/**
 * @typedef {object} NodesDocument
 * @property {string[]} names
 * @property {string[]} resources
 * @property {Record<string, number[]>} allocatable
 * @property {Record<string, number[]>} requested
 * @property {boolean[]} unschedulable
 * @property {string[][]} taints
 * @property {string[]} labelKeys
 * @property {Record<string, { values: string[], codes: number[] }>} labels
 * @property {number} version
 * @property {string} [continue]
 *
 * @typedef {{ version: number, all?: boolean, rows?: number[], requested: Record<string, number[]> }} Usage
 */

/**
 * @typedef {object} Waiting
 * @property {PodName} pod
 * @property {Where} where
 * @property {string} profile
 * @property {number} priority
 * @property {number} since
 * @property {number | null} firstAttempt
 * @property {number} tries
 * @property {string[]} plugins
 * @property {string} message
 * @property {string[]} waitsFor
 * @property {string} nominatedNode
 * @property {number | null} backoffUntil
 * @property {string} gatedBy
 * @property {number | null} lastAttempt
 * @property {{ kind: string, name: string } | null} owner
 *
 * @typedef {{ counts: Counts, pods: Waiting[], continue?: string }} Queue
 */

/**
 * @typedef {object} Suggestion
 * @property {string} text
 * @property {"fits" | "preempts"} then
 * @property {string[]} nodes
 * @property {unknown[]} change
 * @property {Record<string, unknown>} [where]
 */

/**
 * @typedef {object} PendingGroup
 * @property {string} cause
 * @property {string} message
 * @property {string[]} plugins
 * @property {number} count
 * @property {number} oldest
 * @property {number} tries
 * @property {string[]} waitsFor
 * @property {string[]} pods
 * @property {Suggestion | null} [advice]
 *
 * @typedef {object} Pending
 * @property {number} pods
 * @property {PendingGroup[]} groups
 * @property {{ suggestion: Suggestion, frees: number, pods: string[] } | null} [best]
 */

/**
 * @typedef {object} Attempt
 * @property {number} number
 * @property {number} time
 * @property {PodName} pod
 * @property {string} profile
 * @property {number} try
 * @property {string} wokenBy
 * @property {Outcome} outcome
 * @property {string} node
 * @property {string} message
 * @property {string[]} plugins
 * @property {number} nodes
 * @property {number} lookedAt
 * @property {number} feasible
 * @property {number} ties
 * @property {number | null} score
 * @property {number} seconds
 * @property {{ time: number, seconds: number, by: string, message: string } | null} after
 *
 * @typedef {{ attempts: Attempt[], continue?: string }} Attempts
 * @typedef {{ attempts: Attempt[], missed: number }} StreamedAttempts
 * @typedef {Pick<Attempt, "number" | "outcome" | "node" | "after">} StreamedOutcome
 */

/**
 * @typedef {object} DecisionParts
 * @property {{ plugin: string, rejected: number, reasons: Record<string, number>, skipped: boolean }[]} filters
 * @property {{ plugin: string, weight: number, skipped: boolean, chosen: number | null, best: number | null, worst: number | null }[]} scores
 * @property {{ name: string, chosen: number | null }[]} extenders
 * @property {{ status: string, plugin: string, reasons: string[], narrowedTo: number | string[] | null } | null} preFilter
 * @property {{ node: string, score: number, by: number } | null} second
 * @property {{ plugin: string, weight: number, newWeight: number, then: string } | null} tippedBy
 * @property {{ candidates: { node: string, victims: string[], pdbViolations: number }[], nominated: string } | null} preemption
 * @property {{ point: string, plugin?: string, seconds: number }[]} took
 *
 * @typedef {Attempt & DecisionParts} Decision
 */

/**
 * @typedef {{ raw?: number, normalized?: number, weighted: number }} Score an extender's has a weighted one alone
 * @typedef {{ plugin?: string, extender?: string, weight?: number }} MatrixColumn
 *
 * @typedef {object} MatrixRow
 * @property {string} node
 * @property {boolean | null} fits
 * @property {number | null} [total]
 * @property {number | null} [rank]
 * @property {boolean} [chosen]
 * @property {string} [plugin]
 * @property {string} [code]
 * @property {string[]} [reasons]
 * @property {(Score | null)[] | null} scores
 *
 * @typedef {{ columns: MatrixColumn[], total: number, matching: number, rows: MatrixRow[], continue?: string }} Matrix
 */

/**
 * @typedef {object} PodStory
 * @property {PodName} pod
 * @property {"pending" | "placed" | "binding" | "gated" | "unknown"} state
 * @property {string} node
 * @property {number | null} since
 * @property {number} tries
 * @property {Waiting | null} queue
 * @property {Decision | null} last
 * @property {Attempt[]} attempts
 * @property {string[]} words
 * @property {Suggestion[]} [advice]
 */

/**
 * @typedef {{ code: string, reasons?: string[], plugin?: string }} Verdict
 *
 * @typedef {object} Trial
 * @property {string[]} feasible
 * @property {Record<string, Verdict>} [nodeStatus]
 * @property {Record<string, Record<string, { raw: number, weighted: number }>>} [scores]
 * @property {Record<string, number>} [totals]
 * @property {string[]} [best]
 * @property {string} [message]
 * @property {Verdict & { status?: string }} [preFilter]
 * @property {Verdict} [preEnqueue]
 * @property {{ nominatedNode: string | null, nominatedNodes: string[], victims: string[] | null, message: string, code: string }} [postFilter]
 * @property {string[]} words
 * @property {Suggestion[]} [advice]
 * @property {{ metadata?: { namespace?: string, name?: string } }} pod
 */

/**
 * @typedef {object} Comparison
 * @property {number} pods
 * @property {number} same
 * @property {{ pod: string, now: string | null, then: string | null, nowScore: number | null, thenScore: number | null, why: string }[]} changes
 *
 * @typedef {{ point: string, calls: number, seconds: number, mean: number, p99: number | null }} PointTimes
 * @typedef {{ plugins: { name: string, points: PointTimes[], inTree: boolean, failures: number, slow: number }[] }} Plugins
 */

export {};
