"""Process ids that are made of names."""

from __future__ import annotations

import pytest

from mqkit_cli.ctl.exits import CtlError
from mqkit_cli.ctl.pids import channel_pid, check, connection_pid

NAME = "127.0.0.1:53482 -> 127.0.0.1:5672"


def test_a_connection_keeps_its_own_and_another_has_another() -> None:
    pid = connection_pid("rabbit@here", NAME)
    assert pid == connection_pid("rabbit@here", NAME)
    assert pid != connection_pid("rabbit@here", NAME + "0")
    assert channel_pid("rabbit@here", NAME, 1) != channel_pid("rabbit@here", NAME, 2)
    check(pid)


@pytest.mark.parametrize("text", ["", "nope", "<>", "<a.b.c>", "0.1.2"])
def test_what_is_none_is_said(text: str) -> None:
    with pytest.raises(CtlError, match="invalid_pid_syntax"):
        check(text)
