"""A link: bytes in, bytes out, and messages in lanes between. No socket here, and no clock.

The shell makes one for each socket that is connected, on either end. It hands in what came
(:meth:`Link.receive_data`), the time (:meth:`Link.tick`, at :meth:`Link.next_deadline` at the
latest) and the end of the socket (:meth:`Link.lost`). After each of these, and after whatever its
owner did, it writes :meth:`Link.data_to_send` as long as the socket takes it, calls
:meth:`Link.advance` in the next turn while ``more_waits`` (and reads no more until then), and
closes the socket once ``closed``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from reference_broker.cluster.link.asks import ASK_BYTES_MAX, Asks, Questions
from reference_broker.cluster.link.assembly import Assembly, Message
from reference_broker.cluster.link.credit import ReceivingCredit, decode_credit
from reference_broker.cluster.link.frame import Buffer, encode_frame
from reference_broker.cluster.link.frame_decoder import FrameDecoder
from reference_broker.cluster.link.handshake import Handshake, Identity, Role
from reference_broker.cluster.link.handshake_state import HandshakeState
from reference_broker.cluster.link.heartbeats import Heartbeats, Report
from reference_broker.cluster.link.hello import Purpose
from reference_broker.cluster.link.lane import (
    OWNER_KINDS,
    WINDOWS,
    AskKind,
    ControlKind,
    Lane,
    cost,
)
from reference_broker.cluster.link.lanes import OUTPUT_BYTES, Lanes
from reference_broker.cluster.link.link_state import LINK_TRANSITIONS, LinkEvent, LinkState
from reference_broker.errors import LinkError

if TYPE_CHECKING:
    from reference_broker.cluster.link.asks import Told
    from reference_broker.cluster.link.connection_numbers import ConnectionNumbers
    from reference_broker.cluster.link.hello import Hello
    from reference_broker.core.work.until import Until

GREETING_S = 5.0
"""From the connected socket to the end of the handshake, which is two round trips."""

ENDING_S = 1.0
"""For the socket to take the line that says why the link ends."""

TURN_FRAMES = 256
"""Frames that one call takes at most. A frame is a batch of a turn at the other end, or full."""

TURN_BYTES = 1024 * 1024
"""Octets of frames after which a call ends: half a millisecond of checksums and copies."""

REASON_BYTES_MAX = 500
"""Octets of the line that says why a link ends. The longest of ours names two nodes and
clusters."""

Receiver = Callable[[int, memoryview], None]
"""A lane's receiver at this end: called with the kind and the payload (see :class:`Message`) of
each message, in order. When it is done with one, now or later, it calls :meth:`Link.consumed`. For
one that can't be read it raises :exc:`LinkError`, which ends the link."""


class LinkOwner(Protocol):
    """The owner of a link, as the link sees it."""

    def link_open(self, link: Link) -> None:
        """Begin: ``link.peer`` has proved who it is. An older link with the same node is to be
        ended now."""
        ...

    def link_down(self, link: Link) -> None:
        """Forget the link, for ``link.reason``: no message comes any more, what waited is dropped,
        and what was sent may have arrived or not. Called once, also where it was never open."""
        ...

    def heartbeat(self, link: Link) -> None:
        """Look at ``link.heartbeats``: one has come."""
        ...

    def report_for(self, link: Link) -> Report | None:
        """This node's state, for a heartbeat that is due; ``None``: the link says nothing."""
        ...

    def asked(self, link: Link, token: int, question: memoryview) -> None:
        """Have :meth:`Link.answer` be called, now or later, once."""
        ...

    def receivers(self, link: Link) -> Mapping[Lane, Receiver]:
        """A receiver for each lane but that of questions. CONTROL's gets kinds from
        :data:`OWNER_KINDS` up, and gives no credit back."""
        ...


class Link:
    """One connection between two nodes. After :attr:`state` was OPEN it never is again."""

    def __init__(
        self,
        role: Role,
        identity: Identity,
        numbers: ConnectionNumbers,
        owner: LinkOwner,
        now: float,
    ) -> None:
        self.state = LinkState.GREETING
        self.reason = ""
        """The line that says why it ended. Empty while it didn't."""
        self.heartbeats = Heartbeats(now)
        self.more_waits = False
        """True while frames have come for which the last call had no time."""
        self._owner = owner
        self._receivers: Mapping[Lane, Receiver] = {}
        self._time_limit = now + GREETING_S
        self._decoder = FrameDecoder()
        self._assembly = Assembly()
        self._lanes = Lanes()
        self.counts = self._lanes.counts
        """Of this connection, its handshake included. Read only."""
        self._credits = {lane: ReceivingCredit(lane) for lane in WINDOWS}
        self._asks = Asks()
        self._questions = Questions()
        self._last_word = b""
        self._now = now
        self._purpose = identity.hello.purpose
        self._handshake = Handshake(role, identity, numbers)
        for kind, payload in self._handshake.begin():
            self._lanes.put_control(kind, payload)

    def __repr__(self) -> str:
        return f"<Link to {self._peer_name} {self.state.name}>"

    @property
    def peer(self) -> Hello:
        """The node at the other end. Ask only once the link was open."""
        if self._handshake.state is not HandshakeState.DONE or self._handshake.peer is None:
            raise AssertionError("nobody has proved who is at the other end")
        return self._handshake.peer

    @property
    def was_open(self) -> bool:
        """True once the node at the other end has proved who it is."""
        return bool(self._receivers)

    @property
    def version(self) -> int:
        """The version of the protocol that both ends speak."""
        return self._handshake.version

    @property
    def closed(self) -> bool:
        """True once the socket is to be closed."""
        return self.state is LinkState.CLOSED

    @property
    def held_bytes(self) -> int:
        """Accounted bytes of all that waits here: to be sent, to be complete, to be handed over,
        and to be consumed by the owner."""
        owned = sum(credit.held for credit in self._credits.values())
        return self._lanes.waiting + self._decoder.buffered + self._assembly.held + owned

    # Inputs

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the peer sent. Never raises for what a peer does: the link ends."""
        if self.state is LinkState.GREETING or self.state is LinkState.OPEN:
            self._now = now
            self.heartbeats.hear(now)
            self._decoder.receive_data(data)
            self._take_frames()

    def advance(self, now: float) -> None:
        """Go on with the frames for which an earlier call had no time."""
        self._now = now
        if self.more_waits:
            self._take_frames()

    def tick(self, now: float) -> None:
        """Do what is due. Hand in first what has been received."""
        self._now = now
        if self.state is LinkState.OPEN:
            self._asks.expire(now)
            if self.heartbeats.is_back(now):
                self._beat(now)
        elif self.state is not LinkState.CLOSED and now >= self._time_limit:
            self._finish(LinkEvent.BREAK, f"the handshake took longer than {GREETING_S:g} s")

    def _beat(self, now: float) -> None:
        fault = self.heartbeats.fault(now)
        if fault:
            self._finish(LinkEvent.BREAK, fault)
            return
        beat = self.heartbeats.beat(now, self._owner.report_for(self))
        if beat is not None:
            self._lanes.put_heartbeat(beat)

    def next_deadline(self) -> float | None:
        """The time of the next :meth:`tick`; ``None`` for never."""
        if self.state is LinkState.CLOSED:
            return None
        if self.state is not LinkState.OPEN:
            return self._time_limit
        asks = self._asks.next_deadline()
        beats = self.heartbeats.next_deadline()
        return beats if asks is None else min(asks, beats)

    def lost(self, reason: str) -> None:
        """Take that the socket is gone, in whatever way, which ``reason`` names. Idempotent."""
        cut_off = self._decoder.buffered and self.state is LinkState.OPEN
        self._finish(LinkEvent.LOST, f"{reason}, within a frame" if cut_off else reason)

    def end(self, reason: str) -> None:
        """End the link, and tell the peer why, in one line. Does nothing when it has ended."""
        if self.state is LinkState.GREETING or self.state is LinkState.OPEN:
            self._last_word = encode_frame(Lane.CONTROL, ControlKind.END, _line(reason).encode())
            self._time_limit = self._now + ENDING_S
            self._finish(LinkEvent.END, reason)

    # Output

    @property
    def has_output(self) -> bool:
        """True if :meth:`data_to_send` would give something."""
        if self.state is LinkState.ENDING:
            return True
        return self.state is not LinkState.CLOSED and self._lanes.has_output

    def data_to_send(self, most: int = OUTPUT_BYTES) -> list[Buffer]:
        """The buffers to write next, in order, of about ``most`` octets; empty when there is
        nothing. Call it only when the socket takes them, and let the socket keep little that is not
        sent (TCP_NOTSENT_LOWAT): a heartbeat overtakes what is here, and nothing that is there."""
        if self.state is LinkState.ENDING:
            self._go(LinkEvent.TOLD)
            return [self._last_word]
        if self.state is LinkState.CLOSED:
            return []
        return self._lanes.take_output(most)

    # For the owner

    def room(self, lane: Lane) -> int:
        """Bytes that ``lane`` takes now; 0 or below: wait for :meth:`room_comes`. 0 unless the link
        is open."""
        return self._lanes.room(lane) if self.state is LinkState.OPEN else 0

    def room_comes(self, lane: Lane) -> Until:
        """The event that ``lane``, which had no room, has some again, or that the link has ended.
        It tells all who wait at once: who has many of them spreads it over turns."""
        return self._lanes.room_comes(lane)

    def is_stalled(self, lane: Lane) -> bool:
        """True while messages of ``lane`` wait because the owner at the other end is behind."""
        return self._lanes.is_stalled(lane)

    def sent_bytes(self, lane: Lane) -> int:
        """Octets of frames that were handed to the socket."""
        return self.counts.sent_octets[lane]

    def waiting_bytes(self, lane: Lane) -> int:
        """Accounted bytes of messages that wait here to be sent in ``lane``, which is not
        CONTROL."""
        return self._lanes.waiting_in(lane)

    def send(self, lane: Lane, kind: int, buffers: Sequence[Buffer]) -> None:
        """Have a message go. Ask for :meth:`room` first, unless it is a reply or control. Nothing
        may change ``buffers`` any more. Dropped unless the link is open."""
        if self.state is not LinkState.OPEN:
            return
        try:
            if lane is Lane.CONTROL:
                if kind < OWNER_KINDS:
                    raise AssertionError(f"control of kind {kind} is the link's own")
                self._lanes.put_control(kind, b"".join(buffers))
            else:
                self._lanes.put(lane, kind, buffers)
        except LinkError as error:
            self._finish(LinkEvent.BREAK, str(error))

    def consumed(self, lane: Lane, kind: int, payload: memoryview) -> None:
        """Give back the credit of a message that a receiver was handed, once for each."""
        self._give_back(lane, cost(kind, len(payload)))

    @property
    def may_ask(self) -> bool:
        """True if :meth:`ask` may be called: the link is open, and not too much is asked."""
        return self._asks.has_room and self.room(Lane.ASK) > 0

    def ask(self, question: bytes, deadline: float, told: Told) -> None:
        """Ask the node at the other end, if :attr:`may_ask`. ``told`` is called once, never within
        this call: with the answer, or at ``deadline``, or when the link ends."""
        if not self.may_ask or len(question) > ASK_BYTES_MAX:
            raise AssertionError(f"a question of {len(question)} octets may not be asked now")
        self._lanes.put(Lane.ASK, AskKind.ASK, (self._asks.open(deadline, told), question))

    def answer(self, token: int, buffers: Sequence[Buffer]) -> None:
        """Answer a question that the owner was ``asked``, once. Ask for the :meth:`room` of the
        lane first. Dropped unless the link is open."""
        if self.state is LinkState.OPEN:
            self._lanes.put(Lane.ASK, AskKind.ANSWER, (self._questions.close(token), *buffers))

    # Frames

    def _take_frames(self) -> None:
        """Take frames until the call has had its part of the turn."""
        decoder, counts = self._decoder, self.counts
        until = decoder.buffered - TURN_BYTES
        self.more_waits = False
        try:
            for _ in range(TURN_FRAMES):
                buffered = decoder.buffered
                frame = decoder.next_frame()
                if frame is None:
                    return
                counts.received_frames[frame.lane] += 1
                counts.received_octets[frame.lane] += buffered - decoder.buffered
                message = self._assembly.take(frame)
                if message is not None:
                    self._take_message(message)
                if self.state is not LinkState.OPEN and self.state is not LinkState.GREETING:
                    return
                if decoder.buffered <= until:
                    break
            self.more_waits = decoder.buffered > 0
        except LinkError as error:
            self.end(str(error))

    def _take_message(self, message: Message) -> None:
        lane, kind, payload = message
        if lane is Lane.CONTROL:
            self._take_control(kind, payload)
            return
        size = cost(kind, len(payload))
        if size:
            self._credits[lane].receive(size)
        if lane is Lane.ASK:
            self._give_back(lane, size)
            self._take_question(kind, payload)
        else:
            self._receivers[lane](kind, payload)

    def _take_question(self, kind: int, payload: memoryview) -> None:
        if kind == AskKind.ASK:
            token, question = self._questions.take(payload)
            self._owner.asked(self, token, question)
        elif kind == AskKind.ANSWER:
            self._asks.answer(payload)
        else:
            raise LinkError(f"a message of kind {kind} in the lane of questions")

    def _take_control(self, kind: int, payload: memoryview) -> None:
        if kind == ControlKind.END:
            text = str(payload[:REASON_BYTES_MAX], "utf-8", "replace")
            self._handshake.refuse()
            self._finish(LinkEvent.BREAK, f"{self._peer_name} ended the link: {_line(text)}")
        elif self.state is LinkState.GREETING:
            self._greet(kind, bytes(payload))
        elif kind == ControlKind.HEARTBEAT:
            self.heartbeats.take(payload, self._now)
            self._owner.heartbeat(self)
        elif kind == ControlKind.CREDIT:
            self._lanes.give_credit(decode_credit(payload))
        elif kind >= OWNER_KINDS:
            self._receivers[Lane.CONTROL](kind, payload)
        else:
            raise LinkError(f"control of kind {kind} on an open link")

    def _greet(self, kind: int, payload: bytes) -> None:
        for answer_kind, answer in self._handshake.receive(kind, payload):
            self._lanes.put_control(answer_kind, answer)
        if self._handshake.state is HandshakeState.DONE:
            self._go(LinkEvent.GREETED)
            if self._purpose == Purpose.LINK:
                self._decoder.open_lanes()
            self.heartbeats = Heartbeats(self._now)
            self._receivers = self._owner.receivers(self)
            self._owner.link_open(self)

    def _give_back(self, lane: Lane, size: int) -> None:
        credit = self._credits[lane].consume(size)
        if credit is not None and self.state is LinkState.OPEN:
            self._lanes.put_credit(credit)

    # The end

    @property
    def _peer_name(self) -> str:
        peer = self._handshake.peer
        return "the other end" if peer is None else f"node {peer.node!r}"

    def _finish(self, event: LinkEvent, reason: str) -> None:
        """Leave for ENDING or CLOSED; the first reason holds, and all who wait are told once."""
        self._go(event)
        if self.reason:
            return
        self.reason = reason or "it ended"
        self.more_waits = False
        self._handshake.refuse()
        self._asks.end(f"the link ended: {reason}")
        for lane in WINDOWS:
            self._lanes.room_comes(lane).happened()
        self._owner.link_down(self)

    def _go(self, event: LinkEvent) -> None:
        self.state = LINK_TRANSITIONS.after(self.state, event)


def _line(text: str) -> str:
    """One line that a log can show, whoever wrote it."""
    shown = "".join(each if each.isprintable() else "?" for each in text)
    return shown.encode()[:REASON_BYTES_MAX].decode(errors="ignore")
