from __future__ import annotations

import pytest

from reference_broker.simulation.clients.features.ledger import Ledger, Post
from reference_broker.simulation.watch.checkers import Violation

LINE = 1


def posted(ledger: Ledger, *places: tuple[str, ...]) -> Post:
    return ledger.post(LINE, places or [("q",)], wall_ms=1_000, life=1)


def test_a_confirmed_message_that_was_taken_is_fine() -> None:
    ledger = Ledger("law")
    post = posted(ledger, ("q", "dead"), ("r",))
    ledger.confirmed(post, 1_001, synced=True)
    ledger.settled(LINE, "dead", ledger.delivered("dead", post.number, []).number)
    with pytest.raises(Violation, match="law: 1 confirmed messages are gone") as failure:
        ledger.drained()
    assert failure.value.lost == 1
    ledger.settled(LINE, "r", post.number)
    ledger.drained()


def test_nothing_is_promised_of_what_was_not_confirmed() -> None:
    ledger = Ledger("law")
    posted(ledger)
    ledger.drained()


def test_a_queue_has_no_message_twice() -> None:
    ledger = Ledger("law")
    post = posted(ledger)
    ledger.delivered("q", post.number, [("r", post.number)])
    with pytest.raises(Violation, match="twice"):
        ledger.delivered("q", post.number, [("q", post.number)])
    ledger.delivered("q", post.number, [("q", post.number)], may_be_again=True)


def test_an_ack_before_what_is_confirmed_is_synced() -> None:
    ledger = Ledger("law")
    first = posted(ledger)
    ledger.settled(LINE, "q", first.number)
    ledger.delivered("q", first.number, [])  # The ack may be lost.
    later = posted(ledger)
    ledger.confirmed(later, 1_002, synced=False)
    ledger.delivered("q", first.number, [])
    ledger.confirmed(later, 1_002, synced=True)
    with pytest.raises(Violation, match="came back"):
        ledger.delivered("q", first.number, [])


def test_an_ack_behind_what_is_confirmed_may_not_be() -> None:
    ledger = Ledger("law")
    first, later = posted(ledger), posted(ledger)
    ledger.settled(LINE, "q", first.number)
    ledger.confirmed(later, 1_002, synced=True)
    ledger.delivered("q", first.number, [])
    ledger.all_synced(LINE)
    with pytest.raises(Violation, match="came back"):
        ledger.delivered("q", first.number, [])


def test_a_message_that_nobody_sent_is_seen() -> None:
    with pytest.raises(Violation, match="never sent"):
        Ledger("law").delivered("q", 1, [])


def test_what_comes_again_is_marked() -> None:
    ledger = Ledger("law")
    post = posted(ledger)
    ledger.sent(("q", post.number, 0), 1, redelivered=False)
    ledger.sent(("q", post.number, 0), 2, redelivered=True)
    ledger.sent(("q", post.number, 1), 3, redelivered=False)
    with pytest.raises(Violation, match="message 1 came from 'q' a second time as new"):
        ledger.sent(("q", post.number, 0), 4, redelivered=False)
