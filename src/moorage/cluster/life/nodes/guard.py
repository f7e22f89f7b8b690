"""Ends the processes of a cluster that is itself killed before it can."""

from __future__ import annotations

import subprocess

_SCRIPT = """
groups=
while read -r line; do groups=$line; done
for group in $groups; do kill -s KILL -- "-$group"; done
"""


class Guard:
    """A small process beside this one, from the first group of processes to be watched until `close`.

    It reads which groups there are. When this process is gone, by whatever signal, its input ends, and it
    kills those that are left.
    """

    def __init__(self) -> None:
        self._groups: dict[int, None] = {}
        self._shell: subprocess.Popen[bytes] | None = None

    def watch(self, group: int) -> None:
        self._groups[group] = None
        self._tell()

    def forget(self, group: int) -> None:
        if group in self._groups:
            del self._groups[group]
            self._tell()

    def close(self) -> None:
        if self._shell is not None:
            self._shell.communicate()
            self._shell = None

    def _tell(self) -> None:
        try:
            if self._shell is None:
                self._shell = _start()
            assert self._shell.stdin is not None
            self._shell.stdin.write(f"{' '.join(map(str, self._groups))}\n".encode())
        except OSError:
            return  # there is no shell, or somebody has ended it: the cluster works without


def _start() -> subprocess.Popen[bytes]:
    # In a session of its own: what the terminal sends to this process does not end it.
    return subprocess.Popen(
        ("/bin/sh", "-c", _SCRIPT),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        bufsize=0,
        start_new_session=True,
    )
