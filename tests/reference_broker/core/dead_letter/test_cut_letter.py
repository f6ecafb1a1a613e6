"""Hops of dead letters whose history was cut."""

from __future__ import annotations

import pytest

from mqkit.wire import Properties, encode_header
from reference_broker.core.dead_letter.cut_letter import HOPS_MAX, CutLetter, cut_letter_of
from reference_broker.core.message.content import Content
from reference_broker.core.queue.death import Death, DeathReason
from reference_broker.core.vhost.topology_bounds import MAX_QUEUES
from reference_broker.testing.lone_queue import QueueHost

CONTENT = Content(b"\0\1q", encode_header(1, Properties()), b"x")


def hop(content: Content, reason: DeathReason) -> CutLetter:
    queue = QueueHost().declare("q")
    return cut_letter_of(Death(queue, 0, content, reason), CONTENT)


def test_hops_are_counted_from_the_first_cut() -> None:
    letter = hop(CONTENT, DeathReason.EXPIRED)
    assert letter.hops == 1
    assert hop(letter, DeathReason.MAXLEN).hops == 2


@pytest.mark.parametrize("content", [CONTENT, CutLetter(CONTENT, 7)])
def test_a_rejection_begins_anew(content: Content) -> None:
    assert hop(content, DeathReason.REJECTED).hops == 0


def test_the_letter_is_the_same_message() -> None:
    letter = hop(CONTENT, DeathReason.EXPIRED)
    assert (letter.route, letter.header, letter.body) == (b"\0\1q", CONTENT.header, b"x")


def test_a_virtual_host_has_no_more_queues_than_a_letter_may_leave() -> None:
    assert HOPS_MAX >= MAX_QUEUES
