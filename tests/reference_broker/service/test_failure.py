"""Errors that end a program, in words."""

from __future__ import annotations

import pytest

from reference_broker.errors import DataDirectoryLocked
from reference_broker.service.failure import in_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (DataDirectoryLocked("stop it"), "stop it"),
        (FileNotFoundError(2, "No such file", "a.pem"), "a.pem: No such file (check the path)"),
        (IsADirectoryError(21, "Is a directory", "d"), "d: Is a directory (name a file in it)"),
        (OSError("no reason"), "no reason"),
        (
            ModuleNotFoundError("No module named 'h11'", name="h11"),
            "h11 is not installed; run: pip install 'mqkit[broker]'",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_is_a_line(error: Exception, words: str) -> None:
    assert in_words(error, "broker") == words


@pytest.mark.parametrize(
    "error", [RuntimeError("odd"), ModuleNotFoundError("odd", name="reference_broker.odd")]
)
def test_all_else_is_a_defect(error: Exception) -> None:
    assert in_words(error, "broker") == (
        f"unexpected {type(error).__name__}: odd (this is a defect of mqkit; MQKIT_TRACEBACK=1"
        " shows where)"
    )
