"""The command as a person runs it, without this machine's MQKIT_*, in an empty folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from mqkit_cli.app import app
from mqkit_cli.errors import run_guarded


@dataclass(frozen=True, slots=True)
class Completed:
    """A command's exit code and output."""

    returncode: int
    stdout: str
    stderr: str


Mqkit: TypeAlias = Callable[..., Completed]


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """For commands that a test starts as processes. (Unbuffered, Python takes a write that a closed
    pipe cut short for a whole one.)"""
    ours = ("MQKIT_", "PYTHONUNBUFFERED")
    return {name: text for name, text in os.environ.items() if not name.startswith(ours)}


@pytest.fixture
def mqkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Mqkit:
    """Run `mqkit ARGUMENTS` as its main function does, in this process: a second faster each time.

    `stdin` is empty unless given; other keywords are environment variables.
    """
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("MQKIT_")]:
        monkeypatch.delenv(name)

    def run(*arguments: str, stdin: str = "", **variables: str) -> Completed:
        typed = tmp_path / "stdin"
        typed.write_text(stdin, newline="")
        capsys.readouterr()
        with monkeypatch.context() as patch, typed.open() as source:
            patch.setattr(sys, "stdin", source)
            for name, text in variables.items():
                patch.setenv(name, text)
            code = run_guarded(
                partial(app, list(arguments), prog_name="mqkit", standalone_mode=False)
            )
        return Completed(code, *capsys.readouterr())

    return run
