"""The home of queues, as this node reaches it: over whatever link there is.

What is asked of it goes at the end of the turn, in its order; settlements that follow each other
are one, and of a consumer's grants only the last goes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from reference_broker.cluster.queues.answer_octets import (
    read_counted,
    read_delivery,
    read_delivery_run,
    read_error,
    read_got,
    read_number,
    read_purged,
)
from reference_broker.cluster.queues.command_octets import (
    OPEN_MAX,
    SETTLED_MAX,
    Detach,
    Question,
    encode_attach,
    encode_detach,
    encode_grant,
    encode_question,
    encode_settle,
)
from reference_broker.cluster.queues.kinds import AnswerKind, CommandKind
from reference_broker.cluster.queues.lane_input import work_number
from reference_broker.cluster.queues.sent_publishes import SentPublishes
from reference_broker.core.remote.ports import Got
from reference_broker.core.work.budget import METHOD_UNITS
from reference_broker.errors import ChannelException, LinkError, ReplyCode

if TYPE_CHECKING:
    from reference_broker.cluster.link.link import Link
    from reference_broker.cluster.queues.lane_output import LaneOutput
    from reference_broker.cluster.queues.octet_reader import OctetReader
    from reference_broker.core.journal.watermark import Watermark
    from reference_broker.core.message.content import Content
    from reference_broker.core.remote.ports import Answer, Settlement, Taker, Terms, Told
    from reference_broker.core.work.budget import Budget
    from reference_broker.core.work.portions import Portions
    from reference_broker.core.work.task import Steps
    from reference_broker.core.work.until import Until


_RUN_MESSAGES_PER_UNIT = 4
"""Messages of a run that are read in the time that one is published."""

TAKER_BYTES = 1_200
"""Accounted for each consumer of this node, beside what its channel accounts for: its attachment,
most of which is the line of what waits there."""


class LinkedHome:
    """A :class:`~reference_broker.core.remote.ports.Home`: the node of that name. :meth:`begin`
    and :meth:`end` say when there is a link; :meth:`flush` has to be called at the end of each
    turn."""

    def __init__(self, node: str, work: Portions, budget: Budget) -> None:
        self.node = node
        self.publishes = SentPublishes(work, budget)
        self.confirmed: Watermark = self.publishes.confirmed
        self.era = 0
        self.deliveries = 0
        """Messages that the home has delivered to this node, over all links."""
        self.unanswered = 0
        """Questions that the home was asked, and did not answer before a link was lost."""
        self._work = work
        self._budget = budget
        self._work_number = 0
        self._output: LaneOutput | None = None
        self._base = 0
        """The last publish that was numbered before there was this link."""
        self._attachments = 0
        self._takers: dict[int, Taker] = {}
        self._grants: dict[int, tuple[int, int]] = {}
        self._settling: tuple[int, Settlement] | None = None
        self._settled: list[int] = []
        self._tokens = 0
        self._open: dict[int, Told] = {}
        self._unasked: deque[tuple[CommandKind, Question]] = deque()
        """Questions beyond those that may be open."""

    @property
    def held_bytes(self) -> int:
        """Accounted octets of what is known of consumers, and of publishes, beside what is on its
        way."""
        return self.publishes.held_bytes + len(self._takers) * TAKER_BYTES

    # Home

    @property
    def is_up(self) -> bool:
        """True while there is a link."""
        return self._output is not None

    @property
    def has_room(self) -> bool:
        """True if one more message may be published."""
        return self.publishes.has_room

    def room_comes(self) -> Until:
        """The event that messages may be published again, or that the home is down."""
        return self.publishes.room_comes

    def publish(
        self, queue_ids: Sequence[int], content: Content, refused: Callable[[], None] | None = None
    ) -> int:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        return self.publishes.publish(queue_ids, content, refused)

    def publish_run(
        self,
        queue_id: int,
        contents: Sequence[Content],
        refused: Callable[[int], None] | None = None,
    ) -> int:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        return self.publishes.publish_run(queue_id, contents, refused)

    def attach(self, queue_id: int, terms: Terms, taker: Taker) -> int:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        self._attachments = attachment = self._attachments + 1
        self._takers[attachment] = taker
        self._command(CommandKind.ATTACH, encode_attach(attachment, queue_id, terms))
        return attachment

    def grant(self, attachment: int, messages: int, octets: int) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        if self._output is not None and attachment in self._takers:
            self._grants[attachment] = messages, octets
            self._output.look_at_end()

    def detach(self, attachment: int) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        self._grants.pop(attachment, None)
        if attachment in self._takers:
            detach = Detach(attachment, self._last_over_link)
            self._command(CommandKind.DETACH, encode_detach(detach))

    def end_leases(self, queue_id: int, how: Settlement, numbers: Sequence[int]) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`. Of a home that is down every
        lease is stale."""
        if self._output is None:
            return
        if self._settling != (queue_id, how) or len(self._settled) + len(numbers) > SETTLED_MAX:
            self._send_settled()
            self._settling = queue_id, how
        self._settled += numbers
        self._output.look_at_end()

    def get(self, queue_id: int, no_ack: bool, told: Told) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        self._ask(CommandKind.GET, queue_id, told, no_ack=no_ack)

    def count(self, queue_id: int, told: Told) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        self._ask(CommandKind.COUNT, queue_id, told)

    def purge(self, queue_id: int, told: Told) -> None:
        """See :class:`~reference_broker.core.remote.ports.Home`."""
        self._ask(CommandKind.PURGE, queue_id, told)

    def _ask(self, kind: CommandKind, queue_id: int, told: Told, *, no_ack: bool = False) -> None:
        self._tokens = token = self._tokens + 1
        question = Question(token, self._last_over_link, queue_id, no_ack)
        if len(self._open) >= OPEN_MAX:
            self._unasked.append((kind, question))
        else:
            self._command(kind, encode_question(question))
        self._open[token] = told

    @property
    def questions(self) -> int:
        """The number of questions that the home was asked, over all links."""
        return self._tokens

    @property
    def _last_over_link(self) -> int:
        """The last publish that this link has, or is to have."""
        last = self.publishes.last
        return last if last > self._base else 0

    # Sending

    def _command(self, kind: CommandKind, item: bytes) -> None:
        if self._output is None:
            raise AssertionError(f"node {self.node!r} can't be reached, and was not asked for that")
        self._send_settled()
        self._output.add_small(kind, item)

    def _send_settled(self) -> None:
        if self._settling is None or self._output is None:
            return
        item = encode_settle(*self._settling, self._settled)
        self._settling, self._settled = None, []
        self._output.add_small(CommandKind.SETTLE, item)

    def flush(self) -> None:
        """The turn ends: what was settled and granted goes."""
        output = self._output
        if output is None:
            return
        self._send_settled()
        if self._grants:
            grants, self._grants = self._grants, {}
            for attachment, (messages, octets) in grants.items():
                output.add_small(CommandKind.GRANT, encode_grant(attachment, messages, octets))

    # The link

    def begin(self, link: Link, publishing: LaneOutput, output: LaneOutput) -> None:
        """There is a link, whose lanes PUBLISH and DELIVER have these outputs."""
        self._work_number = work_number(link)
        self._base = self.publishes.last
        self.publishes.begin(publishing, self._work_number)
        self._output = output

    def end(self) -> None:
        """The link is down: whoever waits for the home is told so, in portions. Idempotent."""
        if self._output is None:
            return
        self._output = None
        self.era += 1
        self.publishes.end()
        self._grants.clear()
        self._settling, self._settled = None, []
        self._unasked.clear()
        takers, self._takers = self._takers, {}
        asked, self._open = self._open, {}
        self.unanswered += len(asked)
        if takers or asked:
            steps = self._tell_all(takers.values(), asked.values())
            self._work.start(steps, "", self._work_number)

    def _tell_all(self, takers: Iterable[Taker], asked: Iterable[Told]) -> Steps:
        error = ChannelException(
            ReplyCode.NOT_FOUND, f"home node 'mqkit@{self.node}' of the queue went down"
        )
        for taker in takers:
            if self._budget.left <= 0:
                yield None
            self._budget.left -= METHOD_UNITS
            taker.gone()
        for told in asked:
            if self._budget.left <= 0:
                yield None
            self._budget.left -= METHOD_UNITS
            told(error)

    # Answers

    def take(self, kind: int, reader: OctetReader) -> Steps | None:
        """See :data:`~reference_broker.cluster.queues.lane_input.TakeItem`."""
        self._budget.left -= 1
        if kind == AnswerKind.DELIVERY:
            attachment, number, redelivered, content = read_delivery(reader)
            self.deliveries += 1
            self._taker(attachment).deliver(number, redelivered, content)
        elif kind == AnswerKind.DELIVERY_RUN:
            attachment, first, contents = read_delivery_run(reader)
            self.deliveries += len(contents)
            self._budget.left -= len(contents) // _RUN_MESSAGES_PER_UNIT
            self._taker(attachment).deliver_run(first, contents)
        elif kind == AnswerKind.ATTACHED:
            self._taker(read_number(reader)).attached()
        elif kind == AnswerKind.NOT_ATTACHED:
            attachment, error = read_error(reader)
            self._last_of(attachment).refused(error)
        elif kind == AnswerKind.DETACHED:
            self._last_of(read_number(reader)).detached()
        elif kind == AnswerKind.GONE:
            self._last_of(read_number(reader)).gone()
        else:
            self._tell(*_answer(kind, reader))
        return None

    def _taker(self, attachment: int) -> Taker:
        try:
            return self._takers[attachment]
        except KeyError:
            raise LinkError(f"something came for attachment {attachment}, which is none") from None

    def _last_of(self, attachment: int) -> Taker:
        """The taker, which is told nothing any more after this."""
        taker = self._taker(attachment)
        del self._takers[attachment]
        self._grants.pop(attachment, None)
        return taker

    def _tell(self, token: int, answer: Answer) -> None:
        told = self._open.pop(token, None)
        if told is None:
            raise LinkError(f"an answer to question {token}, which is not open")
        if self._unasked:
            kind, question = self._unasked.popleft()
            self._command(kind, encode_question(question))
        told(answer)


def _answer(kind: int, reader: OctetReader) -> tuple[int, Answer]:
    """The token of the question, and its answer."""
    if kind == AnswerKind.GOT:
        return read_got(reader)
    if kind == AnswerKind.GOT_NOTHING:
        return read_number(reader), Got(0, False, None, 0)
    if kind == AnswerKind.COUNTED:
        return read_counted(reader)
    if kind == AnswerKind.PURGED:
        return read_purged(reader)
    if kind == AnswerKind.UNANSWERED:
        return read_error(reader)
    raise LinkError(f"kind {kind} in the lane of deliveries")
