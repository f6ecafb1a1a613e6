"""Parking lots that could lose what is parked, or send it round."""

from __future__ import annotations

import pytest

from mqkit.topology.file.read import check

PARKS = "  q:\n    retry: {after: [1s], park: lot}\n"


def said(text: str) -> list[str]:
    return [fault.show("t.yaml") for fault in check(text)[1]]


def lot(keys: str) -> str:
    return f"queues:\n{PARKS}  lot:\n    {keys}\n  archive: {{}}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"queues:\n{PARKS}",
        *map(lot, ("external: true", "type: quorum", "max_priority: 5", "bind: []")),
        lot("arguments: {x-queue-type: quorum, x-delivery-limit: 2147483647}"),
        # What leaves it goes on.
        lot("message_ttl: 1d\n    dead_letter: {exchange: '', key: archive}"),
        lot("max_length: 5\n    dead_letter: {exchange: '', key: archive}"),
        # A full one refuses, and mqkit, which is told, keeps the message in its queue.
        lot("max_length: 5\n    overflow: reject-publish"),
        # A consumer of the lot may have retries of its own.
        lot("retry: {after: [1s]}"),
        # Several queues in one lot, and the lot of another queue by its form.
        f"queues:\n{PARKS}  r:\n    retry: {{after: [1s], park: lot}}\n",
        "queues:\n  q: {retry: {after: [1s]}}\n  r: {retry: {after: [1s], park: q.parked}}\n",
        "queues:\n  q: {retry: {after: [1s], then: drop, errors: {KeyError: park}, park: lot}}\n",
        "queues:\n  q: {retry: {after: [1s], park: q.parked}}\n  q.parked: {}\n",
    ],
)
def test_a_lot_that_keeps_what_is_parked_is_taken(text: str) -> None:
    assert said(text) == []


WHOSE = "queues.lot: it is the parking lot of 'q'"


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ("durable: false", "would go away with what is parked in it: take 'durable' out"),
        ("exclusive: true", "would go away with what is parked in it: take 'exclusive' out"),
        ("auto_delete: true", "would go away with what is parked in it: take 'auto_delete' out"),
        ("expires: 1h", "would go away with what is parked in it: take 'expires' out"),
        ("arguments: {x-expires: 9}", "would go away with what is parked in it: take 'expires'"),
        ("type: stream", "nothing can be taken out of a stream"),
        ("message_ttl: 1d", "what is parked in it would expire and be lost"),
        ("arguments: {x-message-ttl: 9}", "what is parked in it would expire and be lost"),
        ("{max_length: 5, overflow: drop-head}", "the oldest parked messages would be lost"),
        ("arguments: {x-max-length-bytes: 5}", "the oldest parked messages would be lost"),
        (
            "arguments: {x-queue-type: quorum, x-delivery-limit: 5}",
            "each look at a message counts as a delivery, and after 5 it would be lost",
        ),
    ],
)
def test_a_lot_that_would_lose_what_is_parked_is_a_fault(keys: str, fault: str) -> None:
    (found,) = said(lot(keys))
    assert found.startswith(f"t.yaml:5: {WHOSE}")
    assert fault in found


def test_a_full_lot_that_refuses_loses_what_the_broker_puts_there() -> None:
    full = lot("{max_length: 5, overflow: reject-publish}")
    (found,) = said(full.replace("  q:\n", "  q:\n    message_ttl: 1h\n"))
    assert found == (
        f"t.yaml:6: {WHOSE} and refuses when it is full, and 'q' dead-letters to it: what the"
        " broker puts there would be lost; take the limit out"
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "queues:\n  q:\n    retry:\n      after: [1s]\n      park: q\n",
            "t.yaml:5: queues.q.retry.park: a queue can't be its own parking lot: what failed would"
            " be delivered again at once",
        ),
        (
            "queues:\n  q:\n    retry: {after: [1s], park: q.retry.1s}\n",
            "t.yaml:3: queues.q.retry.park: 'q.retry.1s' is a retry tier of 'q': what is parked"
            " there would go back to 'q' by itself",
        ),
        (
            f"queues:\n{PARKS}  r:\n    type: quorum\n    retry: {{after: [1s], park: lot}}\n",
            "t.yaml:6: queues.r.retry.park: 'lot' is the parking lot of 'q', too, and only one of"
            " the two is a quorum queue: declare 'lot' under queues:, with the type that it is to"
            " have",
        ),
        (
            f"queues:\n{PARKS}  lot:\n    retry: {{after: [1s], park: q}}\n",
            "t.yaml:3: queues.q.retry.park: a ring of parking lots (q -> lot -> q): a message that"
            " fails in each would never end",
        ),
        (
            "exchanges:\n  x: {delays: [5m]}\n"
            "queues:\n  q:\n    retry: {after: [1s], park: x.delay.5m}\n",
            "t.yaml:5: queues.q.retry: a delay of the exchange 'x' makes the queue 'x.delay.5m'",
        ),
    ],
)
def test_a_queue_that_can_be_no_lot_is_a_fault_of_the_policy(text: str, fault: str) -> None:
    assert said(text) == [fault]


def test_a_lot_of_several_is_told_of_once() -> None:
    text = lot("durable: false") + "  r:\n    retry: {after: [1s], park: lot}\n"
    assert len(said(text)) == 1


def test_a_ring_of_dead_lettering_over_a_named_tier_is_found() -> None:
    text = (
        "queues:\n  q:\n    message_ttl: 1h\n    dead_letter: {exchange: '', key: q.wait.1s}\n"
        '    retry: {after: [1s], tiers: "q.wait.{after}"}\n'
    )
    (found,) = said(text)
    assert "(q -> q.wait.1s -> q): RabbitMQ drops a message that goes round" in found


def test_a_long_chain_of_lots_is_no_recursion() -> None:
    chain = [f"  q{n}: {{retry: {{after: [1s], park: q{n + 1}}}}}\n" for n in range(3_000)]
    assert said(f"queues:\n{''.join(chain)}  q3000: {{}}\n") == []
