"""mqkit.transport.connection_thread: who it is, to itself, to others and to a forked child."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from mqkit.errors import Closed, ConfigurationError
from mqkit.transport.connection_thread import ConnectionThread

WAIT_S = 20.0


class Thread(ConnectionThread):
    """Does one thing."""

    def __init__(self, act: Callable[[ConnectionThread], None]) -> None:
        super().__init__("a test")
        self._act = act
        self._thread.start()

    def _run(self) -> None:
        self._act(self)

    def close_copies(self) -> None:
        """It has none."""


def test_it_knows_itself_and_does_not_wait_for_itself() -> None:
    seen: list[object] = []

    def act(thread: ConnectionThread) -> None:
        thread.join(WAIT_S)
        seen.append(thread.is_current())
        try:
            thread.check_may_wait("declare")
        except ConfigurationError as error:
            seen.append(str(error))

    thread = Thread(act)
    thread.join(WAIT_S)
    assert seen[0] is True
    assert "declare was called from a callback of this connection" in str(seen[1])


def test_nobody_else_is_it_nor_is_who_has_the_ident_of_one_that_ended() -> None:
    ended = Thread(lambda _: None)
    ended.join(WAIT_S)
    seen: list[bool] = []
    for _ in range(10):  # one of them has its ident, as a rule
        Thread(lambda _: seen.append(ended.is_current())).join(WAIT_S)
    assert seen == [False] * 10
    assert not ended.is_current()
    ended.check_may_wait("declare")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_forked_child_is_told() -> None:
    thread = Thread(lambda _: None)
    thread.join(WAIT_S)
    assert thread.is_in_own_process()
    thread.check_process()
    child = os.fork()
    if not child:
        try:
            thread.check_process()
        except Closed as error:
            os._exit(0 if f"belongs to process {os.getppid()}" in str(error) else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
