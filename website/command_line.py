"""The help of every ``mqkit`` command as Markdown, made by typer's own ``utils docs``."""

from __future__ import annotations

import subprocess
import sys

PLACE = "<!-- the help of every command -->"
"""The line of a page in whose place it stands."""


def help_pages() -> str:
    """Every command with its usage, arguments and options. Its headings begin at the second level,
    below that of the page."""
    done = subprocess.run(
        [sys.executable, "-m", "typer", "mqkit_cli.app", "utils", "docs", "--name", "mqkit"],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.replace("# `mqkit`", "## `mqkit`", 1)
