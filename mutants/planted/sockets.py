"""Bugs in the runtime's glue between a socket and its connection."""

from __future__ import annotations

from collections import deque

import pytest

from mutants.mutant import mutant
from mutants.worlds import in_small_portions
from reference_broker.core.message.content_frames import Piece
from reference_broker.runtime.net.connection_protocol import ConnectionProtocol
from reference_broker.runtime.net.lost_sockets import LostSockets
from reference_broker.runtime.net.paced_output import PORTION_BYTES, PacedOutput


@mutant("liveness", showed_at=3)
def reading_is_paused_for_good(patch: pytest.MonkeyPatch) -> None:
    """Publishers are not heard again when the alarm is over."""
    read = ConnectionProtocol._read

    def pause(self: ConnectionProtocol, *, wanted: bool) -> None:
        if not wanted:
            read(self, wanted=wanted)

    patch.setattr(ConnectionProtocol, "_read", pause)


@mutant("liveness")
def a_socket_with_room_is_no_news(patch: pytest.MonkeyPatch) -> None:
    """The connection isn't told that the transport takes more again."""
    patch.setattr(ConnectionProtocol, "resume_writing", lambda self: self._output.resume())


@mutant("liveness", "exclusive", "books")
def who_is_gone_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Its connection isn't told, and keeps what it had."""
    patch.setattr(LostSockets, "end_some", lambda self: None)


@mutant(worlds=in_small_portions, showed_at=3)
def a_portion_ends_with_a_whole_piece(patch: pytest.MonkeyPatch) -> None:
    """The rest of a piece that is cut is dropped."""

    def portion(self: PacedOutput) -> list[Piece]:
        taken: list[Piece] = []
        room = PORTION_BYTES
        while self._unsent and room:
            taken.append(memoryview(self._unsent.popleft())[:room])
            room -= len(taken[-1])
        return taken

    patch.setattr(PacedOutput, "_portion", portion)


@mutant("liveness", worlds=in_small_portions)
def its_share_of_a_turn_is_all_a_socket_has(patch: pytest.MonkeyPatch) -> None:
    """Who has brought so much in a turn is not read any more."""
    patch.setattr(ConnectionProtocol, "_read_on", lambda self: None)


@mutant("liveness", worlds=in_small_portions)
def the_rest_waits_for_the_next_output(patch: pytest.MonkeyPatch) -> None:
    """A transport that takes more again is not given what waits."""

    def resume(self: PacedOutput) -> None:
        self._paused = False

    patch.setattr(PacedOutput, "resume", resume)


@mutant(worlds=in_small_portions, showed_at=2)
def new_output_overtakes_what_waits(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(PacedOutput, "takes_more", True)
    write = PacedOutput.write

    def at_once(self: PacedOutput, pieces: list[Piece], size: int) -> None:
        waiting, self._unsent = self._unsent, deque()
        write(self, pieces, size)
        self._unsent.extend(waiting)

    patch.setattr(PacedOutput, "write", at_once)
