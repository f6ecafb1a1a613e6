"""The consent of whoever runs a command to what can't be taken back."""

from __future__ import annotations

import typer

from mqkit_cli.errors import CommandError


def require_consent(question: str, nothing: str) -> None:
    """Ask on stderr, and return if the answer is yes. Raises :exc:`CommandError` otherwise, which
    says ``nothing`` was done: ``nothing was purged``."""
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:
        raise CommandError(f"nobody answered; {nothing} (--yes does not ask)") from None
    if not agreed:
        raise CommandError(nothing)
