"""What a plugin answers."""

from __future__ import annotations

from enum import IntEnum

from moorage.framework.plugin_errors import told


class Code(IntEnum):
    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """The spelling used in metrics and logs, for example `UnschedulableAndUnresolvable`."""
        return _LABELS[self]


_LABELS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}

_REJECTIONS = (Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING)


class Status:
    """The answer of a plugin when it is not plain success (which is `None`).

    Make one with the constructor that says what is meant:

        Status.unschedulable("node is noisy")      # this node not; preempting pods there may help
        Status.unresolvable("no such zone")        # this node not, whatever runs on it
        Status.error("price service is down")       # something broke: the pod is retried
        Status.pending("waiting for quota")        # not now; retried without backoff when an event says so
        Status.skip()                              # nothing to do for this pod
    """

    __slots__ = ("cause", "code", "plugin", "reasons")

    def __init__(
        self, code: Code, *reasons: str, cause: BaseException | None = None, plugin: str = ""
    ) -> None:
        self.code = code if isinstance(code, Code) else Code(code)
        texts = tuple(map(str, reasons))
        self.reasons = (told(cause), *texts) if cause is not None else texts
        self.cause = cause
        self.plugin = plugin

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        return cls(Code.UNSCHEDULABLE, *reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *reasons)

    @classmethod
    def error(cls, *reasons: str, cause: BaseException | None = None) -> Status:
        """Something broke. `cause` is the exception, whose type and text then come first."""
        return cls(Code.ERROR, *reasons, cause=cause)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        return cls(Code.PENDING, *reasons)

    @classmethod
    def skip(cls, *reasons: str) -> Status:
        return cls(Code.SKIP, *reasons) if reasons else _SKIP

    @classmethod
    def success(cls) -> Status:
        return cls(Code.SUCCESS)

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    @property
    def rejected(self) -> bool:
        return self.code in _REJECTIONS

    def by(self, plugin: str) -> Status:
        """The same answer with the plugin's name on it."""
        if self.plugin == plugin:
            return self
        named = Status(self.code, plugin=plugin)
        named.reasons, named.cause = self.reasons, self.cause
        return named

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Status):
            return NotImplemented
        return (self.code, self.reasons, self.plugin) == (other.code, other.reasons, other.plugin)

    def __hash__(self) -> int:
        return hash((self.code, self.reasons, self.plugin))

    def __repr__(self) -> str:
        by = f" by {self.plugin}" if self.plugin else ""
        return f"<Status {self.code.label}{by}: {self.message}>"


_SKIP = Status(Code.SKIP)


class Wait:
    """What `permit` returns to hold a pod back for at most `timeout` seconds."""

    __slots__ = ("timeout",)

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout


class Nomination:
    """What `post_filter` returns to nominate a node, or with an empty name to clear the nomination.

    `status` is for the rarer case that the pod is not helped yet the nomination changes.
    """

    __slots__ = ("node_name", "status")

    def __init__(self, node_name: str, status: Status | None = None) -> None:
        self.node_name = node_name
        self.status = status
