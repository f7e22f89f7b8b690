"""What a plugin answers."""

from __future__ import annotations

from enum import IntEnum

from moorage.framework.plugin_errors import told


class Code(IntEnum):
    """What kind of answer a Status is: `status.code is Code.ERROR`."""

    SUCCESS = 0
    """All is well; plugins return None instead."""
    ERROR = 1
    """Something broke: the pod is tried again after a pause."""
    UNSCHEDULABLE = 2
    """Not this node, or not now; preempting pods may help."""
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    """Not this node, and preempting pods there would not help."""
    WAIT = 4
    """A Permit plugin holds the pod back; plugins return `Wait(seconds)`."""
    SKIP = 5
    """The plugin has nothing to do for this pod."""
    PENDING = 6
    """Waits for something outside; tried again without a pause once an event says so."""

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
        self.code: Code = code if isinstance(code, Code) else Code(code)
        """What kind of answer it is."""
        texts = tuple(map(str, reasons))
        self.reasons: tuple[str, ...] = (told(cause), *texts) if cause is not None else texts
        """Why, one text each; messages count how many nodes give each reason."""
        self.cause = cause
        """The exception behind an Error, if there is one."""
        self.plugin = plugin
        """The plugin that answered; the framework puts it in."""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Not this node, or not now; preempting pods may help."""
        return cls(Code.UNSCHEDULABLE, *reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Not this node whatever runs on it: preemption does not try it."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *reasons)

    @classmethod
    def error(cls, *reasons: str, cause: BaseException | None = None) -> Status:
        """Something broke. `cause` is the exception, whose type and text then come first."""
        return cls(Code.ERROR, *reasons, cause=cause)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Waits for something outside; tried again without a pause once an event of the plugin says so."""
        return cls(Code.PENDING, *reasons)

    @classmethod
    def skip(cls, *reasons: str) -> Status:
        """Nothing to do for this pod; what is skipped depends on the extension point."""
        return cls(Code.SKIP, *reasons) if reasons else _SKIP

    @classmethod
    def success(cls) -> Status:
        """All is well, as a Status; plugins may as well return None."""
        return cls(Code.SUCCESS)

    @property
    def message(self) -> str:
        """All reasons, with commas between them."""
        return ", ".join(self.reasons)

    @property
    def rejected(self) -> bool:
        """Whether the pod was turned down, as opposed to success, Skip or an Error."""
        return self.code in _REJECTIONS

    def by(self, plugin: str) -> Status:
        """The same answer with the plugin's name on it; for the framework, not for plugins."""
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

    __slots__ = ("message", "timeout")

    def __init__(self, timeout: float, message: str = "") -> None:
        self.timeout = timeout
        """Seconds after which the pod is rejected; at most 15 minutes."""
        self.message = message
        """What the pod waits for; told where it waits in vain together with others of its group."""


class Nomination:
    """What `post_filter` returns to nominate a node, or with an empty name to clear the nomination.

    `status` is for the rarer case that the pod is not helped yet the nomination changes.
    """

    __slots__ = ("node_name", "status")

    def __init__(self, node_name: str, status: Status | None = None) -> None:
        self.node_name = node_name
        """The node that room is being made on; empty to clear an older nomination."""
        self.status = status
        """Why the pod is not helped although the nomination changes; None if it is helped."""
