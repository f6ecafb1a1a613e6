"""NAME=VALUE."""

from __future__ import annotations

import pytest

from mqkit_cli.errors import CommandError
from mqkit_cli.messages.pairs import pairs


def test_pairs() -> None:
    assert pairs(["a=1", "b=c=d", "e="], "--x") == {"a": "1", "b": "c=d", "e": ""}


@pytest.mark.parametrize("texts", [["a"], ["=b"], [""], ["a=1", "a=2"]])
def test_what_is_no_pair(texts: list[str]) -> None:
    with pytest.raises(CommandError, match="--x"):
        pairs(texts, "--x")
