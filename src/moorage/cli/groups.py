"""Commands that have commands."""

from __future__ import annotations

import click


class Commands(click.Group):
    """Says which command was probably meant, or which there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            from moorage.config.remedies import closest

            close = closest(name, known)
            remedy = f"Did you mean {close!r}?" if close else f"There are {', '.join(known)}."
            ctx.fail(f"No such command {name!r}. {remedy}")
        return super().resolve_command(ctx, args)
