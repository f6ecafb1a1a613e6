"""The answering end: the other nodes' questions, a few at a time for each link.

An answer is made by whoever knows the kind of question (:class:`Answerer`), and may be of some MiB.
So no more than :data:`AT_ONCE` of them are made, or wait for the link, and a question whose time is
over before its turn comes is not looked at: nobody waits for it any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, Protocol

from reference_broker.cluster.link.lane import Lane
from reference_broker.cluster.link.link import Link
from reference_broker.cluster.link.shell import LinkShell
from reference_broker.cluster.questions.asking import ASK_S, FAILED
from reference_broker.cluster.questions.question import (
    Answer,
    Question,
    TooLong,
    decode_question,
    encode_answer,
)
from reference_broker.errors import Corrupt, LinkError

AT_ONCE = 4
"""Answers to one node that are made at once."""

Reply = Callable[[Answer], None]


class Answerer(Protocol):
    """Whoever knows the answers."""

    def asked(self, node: str, question: Question, reply: Reply) -> None:
        """Call ``reply`` once, within this call or later: within a second, or nobody hears it. Its
        head has no member ``failed`` unless there is no answer."""
        ...


class _Open(NamedTuple):
    """A question that is to be answered, and when it came."""

    token: int
    question: Question
    came: float


class _Asked:
    """The open questions of one link."""

    __slots__ = ("being_answered", "is_going_on", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[_Open] = deque()
        self.being_answered = 0
        self.is_going_on = False


class Answering:
    """Answers the questions of all links. While there is no ``answerer`` none has an answer."""

    def __init__(self, shell: LinkShell) -> None:
        self.answerer: Answerer | None = None
        self._shell = shell
        self._asked: dict[Link, _Asked] = {}

    def asked(self, link: Link, token: int, octets: memoryview) -> None:
        """See :class:`~reference_broker.cluster.link.link.LinkOwner`. Raises :exc:`LinkError` for
        what is no question."""
        try:
            question = decode_question(octets)
        except Corrupt as error:
            raise LinkError(str(error)) from error
        asked = self._asked.setdefault(link, _Asked())
        asked.waiting.append(_Open(token, question, self._shell.now()))
        self._go_on(link, asked)

    def link_down(self, link: Link) -> None:
        """Nobody hears the answers any more. Idempotent."""
        self._asked.pop(link, None)

    def _go_on(self, link: Link, asked: _Asked) -> None:
        if asked.is_going_on:
            return  # an answer that was there at once
        asked.is_going_on = True
        while asked.waiting and asked.being_answered < AT_ONCE:
            token, question, came = asked.waiting.popleft()
            asked.being_answered += 1
            reply = partial(self._reply, link, asked, token)
            if self.answerer is None:
                reply(Answer({FAILED: "nobody answers here yet"}, b""))
            elif self._shell.now() - came > ASK_S:
                reply(Answer({FAILED: "too much is asked"}, b""))
            else:
                self.answerer.asked(link.peer.node, question, reply)
        asked.is_going_on = False

    def _reply(self, link: Link, asked: _Asked, token: int, answer: Answer) -> None:
        if self._asked.get(link) is not asked:
            return
        if link.room(Lane.ASK) <= 0:
            again = partial(self._reply, link, asked, token, answer)
            link.room_comes(Lane.ASK).then(again)
            return
        try:
            buffers = encode_answer(answer)
        except TooLong as error:
            buffers = encode_answer(Answer({FAILED: str(error)}, b""))
        link.answer(token, buffers)
        self._shell.look_at(link)
        asked.being_answered -= 1
        self._go_on(link, asked)
