"""mqkit.transport.pika_outstanding: answers and returns find their messages."""

from __future__ import annotations

from concurrent.futures import Future

from hypothesis import given
from hypothesis import strategies as st

from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Rejected, RejectReason
from mqkit.transport.pika_outstanding import Entry, Outstanding, Return, outcome

ROUTABLE, UNROUTABLE = "here", "nowhere"


def entry(
    routing_key: str = ROUTABLE,
    *,
    body: bytes = b"",
    message_id: str | None = "same",
    mandatory: bool = True,
    headers: dict[str, object] | None = None,
) -> Entry:
    properties = Properties(message_id=message_id, headers=headers or {})
    return Entry(Message("x", routing_key, body, properties, mandatory), Future(), 1)


def returned(of: Entry, *, headers: dict[str, object] | None = None) -> Return:
    message = of.message
    properties = Properties(
        message_id=message.properties.message_id,
        headers=message.properties.headers if headers is None else headers,
    )
    return Return(message.exchange, message.routing_key, message.body, properties, "312 NO_ROUTE")


def test_tags_count_from_one_and_one_answer_takes_one() -> None:
    outstanding = Outstanding()
    entries = [entry() for _ in range(3)]
    assert [outstanding.sent(each) for each in entries] == [1, 2, 3]
    assert outstanding.settled(2, multiple=False) == [entries[1]]
    assert outstanding.settled(2, multiple=False) == []
    assert outstanding.settled(9, multiple=False) == []
    assert len(outstanding) == 2


def test_multiple_takes_everything_up_to_the_tag_that_is_still_there() -> None:
    outstanding = Outstanding()
    entries = [entry() for _ in range(5)]
    for each in entries:
        outstanding.sent(each)
    outstanding.settled(2, multiple=False)
    assert outstanding.settled(3, multiple=True) == [entries[0], entries[2]]
    assert outstanding.settled(3, multiple=True) == []
    assert outstanding.settled(99, multiple=True) == entries[3:]


def test_tag_zero_with_multiple_answers_all() -> None:
    outstanding = Outstanding()
    entries = [entry() for _ in range(3)]
    for each in entries:
        outstanding.sent(each)
    assert outstanding.settled(0, multiple=True) == entries


def test_a_return_decides_over_the_ack_that_follows_it() -> None:
    outstanding = Outstanding()
    mine = entry(UNROUTABLE)
    tag = outstanding.sent(mine)
    assert outstanding.returned(returned(mine))
    assert outstanding.settled(tag, multiple=False) == [mine]
    assert outcome(mine, acked=True) == Rejected(RejectReason.UNROUTABLE, "312 NO_ROUTE", "same")
    assert outcome(entry(), acked=True) == Confirmed("same")
    nacked = outcome(entry(), acked=False)
    assert isinstance(nacked, Rejected)
    assert nacked.reason is RejectReason.NACKED


def test_equal_ids_with_different_bodies_are_told_apart() -> None:
    outstanding = Outstanding()
    entries = [entry(body=b"a"), entry(body=b"b"), entry(body=b"c")]
    for each in entries:
        outstanding.sent(each)
    outstanding.returned(returned(entries[1]))
    assert [each.returned is not None for each in entries] == [False, True, False]


def test_equal_messages_with_different_headers_are_told_apart_where_headers_come_back_equal() -> (
    None
):
    outstanding = Outstanding()
    entries = [entry(headers={"to": "a"}), entry(headers={"to": "b"})]
    for each in entries:
        outstanding.sent(each)
    outstanding.returned(returned(entries[1]))
    assert [each.returned is not None for each in entries] == [False, True]


def test_a_header_that_changed_its_type_on_the_way_is_still_found() -> None:
    outstanding = Outstanding()
    mine = entry(UNROUTABLE, headers={"n": (1, 2)})
    outstanding.sent(mine)
    assert outstanding.returned(returned(mine, headers={"n": [1, 2]}))
    assert mine.returned is not None


def test_a_message_that_is_not_mandatory_is_never_the_returned_one() -> None:
    outstanding = Outstanding()
    optional, asked = entry(mandatory=False), entry()
    outstanding.sent(optional)
    outstanding.sent(asked)
    assert outstanding.returned(returned(asked))
    assert optional.returned is None
    assert asked.returned is not None
    assert not outstanding.returned(returned(asked)), "each is returned once"


def test_a_broker_that_returns_out_of_order_is_followed_too() -> None:
    outstanding = Outstanding()
    first, second = entry(UNROUTABLE, body=b"1"), entry(UNROUTABLE, body=b"2")
    outstanding.sent(first)
    outstanding.sent(second)
    assert outstanding.returned(returned(second))
    assert outstanding.returned(returned(first))
    assert first.returned is not None


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(["", "1", "2"]), st.booleans()), max_size=60),
    st.data(),
)
def test_any_interleaving_gives_every_message_its_own_outcome(
    plan: list[tuple[bool, str, bool]], data: st.DataObject
) -> None:
    """A broker handles publishes in order, returns before it acks, and acks when it likes."""
    outstanding = Outstanding()
    entries = [
        entry(ROUTABLE if routable else UNROUTABLE, message_id=message_id, body=b"z" * big)
        for routable, message_id, big in plan
    ]
    sent = handled = 0
    unanswered: list[int] = []
    got: dict[int, bool] = {}

    def settle(tag: int, *, multiple: bool) -> None:
        for settled in outstanding.settled(tag, multiple=multiple):
            position = next(i for i, each in enumerate(entries) if each is settled)
            got[position + 1] = bool(outcome(settled, acked=True))

    while handled < len(entries) or unanswered:
        can = ["send"] * (sent < len(entries)) + ["handle"] * (handled < sent)
        action = data.draw(st.sampled_from(can + ["ack", "ack all"] * bool(unanswered)))
        if action == "send":
            sent = outstanding.sent(entries[sent])
        elif action == "handle":
            if entries[handled].message.routing_key == UNROUTABLE:
                assert outstanding.returned(returned(entries[handled]))
            handled += 1
            unanswered.append(handled)
        elif action == "ack":
            tag = data.draw(st.sampled_from(unanswered))
            unanswered.remove(tag)
            settle(tag, multiple=False)
        else:
            settle(max(unanswered), multiple=True)
            unanswered.clear()
    assert got == {i: routable for i, (routable, _, _) in enumerate(plan, start=1)}
    assert len(outstanding) == 0


def test_what_is_abandoned_is_given_back_once() -> None:
    outstanding = Outstanding()
    entries = [entry(), entry()]
    for each in entries:
        outstanding.sent(each)
    assert outstanding.abandoned() == entries
    assert outstanding.abandoned() == []
