"""The commands of the reference."""

from __future__ import annotations

import re

import pytest
import typer.main

from mqkit_cli.app import app
from website.command_line import help_pages


@pytest.mark.slow
def test_every_command_has_its_help_below_a_heading() -> None:
    page = help_pages()
    headings = set(re.findall(r"^#{2,5} `mqkit(?: ([\w -]+))?`$", page, re.MULTILINE))

    def words(command: object, before: str = "") -> set[str]:
        children = getattr(command, "commands", {})
        return {before}.union(*(words(c, f"{before} {n}".strip()) for n, c in children.items()))

    assert headings == words(typer.main.get_command(app))
    assert "* `--dry-run" in page
