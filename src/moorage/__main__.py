"""`moorage` and `python -m moorage`: from the first line on, Ctrl-C ends without a traceback."""

from __future__ import annotations

from moorage.cli import interrupts


def main() -> None:
    interrupts.end_at_once()
    from moorage.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
