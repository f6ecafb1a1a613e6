"""The sending half of a link: control first, then the lanes in turns, by bytes.

The turns are those of deficit round robin: a lane that has something to send may send
:data:`QUANTUM_BYTES` a turn, and keeps what it did not use while it waits for its next frame. So in
one turn a lane sends one frame and a quantum at most, and that is what a frame of another waits
for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from reference_broker.cluster.link.credit import Credit
from reference_broker.cluster.link.frame import FRAME_PAYLOAD_MAX, Buffer, encode_frame
from reference_broker.cluster.link.lane import CONTROL_BYTES_MAX, WINDOWS, ControlKind, Lane
from reference_broker.cluster.link.link_counts import LinkCounts
from reference_broker.cluster.link.sending_lane import WAITING_BYTES_MAX, Outgoing, SendingLane
from reference_broker.core.work.until import Until
from reference_broker.errors import LinkError

QUANTUM_BYTES = 16 * 1024
"""Far below a frame, so that who sends full ones is not ahead; a batch of small messages fits."""

OUTPUT_BYTES = FRAME_PAYLOAD_MAX
"""Bytes after which :meth:`Lanes.take_output` stops. What was handed out is ahead of all control
that comes later: a socket should not be given more than it takes at once."""


class Lanes:
    """All that one link has to send, in the lanes that it waits in."""

    __slots__ = (
        "_allowed", "_control", "_control_bytes", "_lanes", "_latest", "_turns", "counts"
    )  # fmt: skip

    def __init__(self) -> None:
        self.counts = LinkCounts()
        self._control: deque[bytes] = deque()
        self._control_bytes = 0
        self._latest: dict[tuple[int, int], bytes] = {}
        self._lanes = {lane: SendingLane(lane) for lane in WINDOWS}
        self._turns: deque[Lane] = deque()
        """Lanes that have a frame to send; the first one's turn is now."""
        self._allowed: dict[Lane, int] = {}
        """Bytes that each of them may send in its turn."""

    # Control

    def put_control(self, kind: int, payload: Buffer) -> None:
        """Have a control message wait. Raises :exc:`LinkError` when more waits than may: the socket
        is stuck, and the link is to be broken."""
        frame = encode_frame(Lane.CONTROL, kind, payload)
        if self._control_bytes + len(frame) > CONTROL_BYTES_MAX:
            raise LinkError(
                f"{CONTROL_BYTES_MAX} octets of control wait for a socket that is stuck"
            )
        self._control.append(frame)
        self._control_bytes += len(frame)

    def put_heartbeat(self, payload: bytes) -> None:
        """Have a heartbeat wait, in the place of one that still does."""
        frame = encode_frame(Lane.CONTROL, ControlKind.HEARTBEAT, payload)
        self._latest[ControlKind.HEARTBEAT, 0] = frame

    def put_credit(self, credit: Credit) -> None:
        """Have a CREDIT wait, in the place of the lane's last one, if that still does."""
        frame = encode_frame(Lane.CONTROL, ControlKind.CREDIT, credit.encode())
        self._latest[ControlKind.CREDIT, credit.lane] = frame

    # The other lanes

    def room(self, lane: Lane) -> int:
        """Bytes that may still be put in ``lane``; 0 or below: wait."""
        return self._lanes[lane].room

    def room_comes(self, lane: Lane) -> Until:
        """The event that ``lane``, which had no room, is half empty."""
        return self._lanes[lane].room_comes

    def is_stalled(self, lane: Lane) -> bool:
        """True while messages of ``lane`` wait for credit."""
        return self._lanes[lane].is_stalled

    def put(self, lane: Lane, kind: int, buffers: Sequence[Buffer]) -> None:
        """Have a message wait in ``lane``. Raises as :meth:`SendingLane.put`."""
        self._lanes[lane].put(Outgoing(kind, buffers, sum(map(len, buffers))))
        self._take_part(lane)

    def give_credit(self, credit: Credit) -> None:
        """Take what a CREDIT says. Raises as :meth:`SendingCredit.give`."""
        self._lanes[credit.lane].give_credit(credit.consumed)
        self._take_part(credit.lane)

    def _take_part(self, lane: Lane) -> None:
        if lane in self._allowed:
            return
        if self._lanes[lane].next_frame_bytes:
            self._allowed[lane] = QUANTUM_BYTES
            self._turns.append(lane)
        elif self._lanes[lane].begins_to_stall():
            self.counts.stalls[lane] += 1

    # Output

    @property
    def waiting(self) -> int:
        """Accounted bytes of messages that wait in all lanes."""
        return sum(lane.waiting for lane in self._lanes.values())

    def waiting_in(self, lane: Lane) -> int:
        """Accounted bytes of messages that wait in ``lane``."""
        return self._lanes[lane].waiting

    @property
    def has_output(self) -> bool:
        """True if :meth:`take_output` would give something."""
        return bool(self._control or self._latest or self._turns)

    def take_output(self, most: int = OUTPUT_BYTES) -> list[Buffer]:
        """The buffers to send next, in order: all control, and then frames until ``most`` bytes
        were passed. Those who waited for room are told of it before this returns."""
        output: list[Buffer] = []
        taken = self._take_control(output)
        half_empty: list[SendingLane] = []
        while self._turns and taken < most:
            taken += self._take_in_turn(self._lanes[self._turns[0]], output, half_empty)
        for lane in half_empty:
            lane.room_comes.happened()
        return output

    def _take_in_turn(
        self, lane: SendingLane, output: list[Buffer], half_empty: list[SendingLane]
    ) -> int:
        """Take a frame of the lane whose turn it is, or end its turn: returns the bytes taken."""
        name = lane.lane
        size = lane.next_frame_bytes
        if size > self._allowed[name]:
            alone = len(self._turns) == 1
            self._allowed[name] = size if alone else self._allowed[name] + QUANTUM_BYTES
            self._turns.rotate(-1)
            return 0
        lane.take_frame(output)
        self._allowed[name] -= size
        self.counts.sent_frames[name] += 1
        self.counts.sent_octets[name] += size
        if not lane.next_frame_bytes:
            self._turns.popleft()
            del self._allowed[name]
            if lane.begins_to_stall():
                self.counts.stalls[name] += 1
        if len(lane.room_comes) and lane.room * 2 >= WAITING_BYTES_MAX and lane not in half_empty:
            half_empty.append(lane)
        return size

    def _take_control(self, output: list[Buffer]) -> int:
        frames = [*self._latest.values(), *self._control]
        self._latest.clear()
        self._control.clear()
        self._control_bytes = 0
        size = sum(map(len, frames))
        self.counts.sent_frames[Lane.CONTROL] += len(frames)
        self.counts.sent_octets[Lane.CONTROL] += size
        output += frames
        return size
