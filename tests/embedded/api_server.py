"""`moorage up` as a program whose controllers and kubelets do nothing: the API server alone.

Beside a kube-apiserver, which has no controller manager and no kubelets either, nothing else changes objects.
"""

from typing import Any

from moorage.cli.main import main
from moorage.cluster import embedded


class Idle:
    """Stands in for the controllers or the nodes."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def start(self) -> None: ...

    async def stop(self) -> None: ...


if __name__ == "__main__":
    for part in ("Controllers", "Nodes"):
        assert hasattr(embedded, part)
        setattr(embedded, part, Idle)
    main()
