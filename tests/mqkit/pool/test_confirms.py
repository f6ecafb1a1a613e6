"""The confirm ledger: each publish is settled exactly once, whatever the broker says, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from mqkit.errors import ConnectionLost
from mqkit.message import Message, Properties
from mqkit.outcome import Confirmed, Outcome, Rejected, RejectReason, Unknown
from mqkit.pool.confirms import ConfirmLedger, Settled

T = TypeVar("T")


def message(key: str = "k", body: bytes = b"", **properties: object) -> Message:
    return Message("x", key, body, Properties(**properties))  # type: ignore[arg-type]


def pairs(settled: Sequence[Settled[T]]) -> list[tuple[T, Outcome]]:
    """Each owner of one message, and its outcome."""
    return [(owner, outcome) for owner, _, [outcome] in settled]


def run_of(ids: str, position: int = 0) -> ConfirmLedger[str]:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    assert ledger.record([message(message_id=each) for each in ids], "run", position) == 1
    return ledger


def confirmed(ids: str) -> list[Confirmed]:
    return [Confirmed(each) for each in ids]


def test_a_single_ack_confirms_its_own_publish_only() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    assert ledger.record([message(message_id="1")], "first") == 1
    assert ledger.record([message(message_id="2")], "second") == 2
    assert pairs(ledger.ack(2)) == [("second", Confirmed("2"))]
    assert len(ledger) == 1


def test_a_multiple_ack_confirms_all_up_to_its_tag() -> None:
    ledger: ConfirmLedger[int] = ConfirmLedger()
    for number in range(1, 6):
        ledger.record([message()], number)
    ledger.ack(2)
    assert [owner for owner, _, _ in ledger.ack(4, multiple=True)] == [1, 3, 4]
    assert len(ledger) == 1


def test_several_recorded_together_are_as_if_one_by_one() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message(message_id="1")], "first")
    assert ledger.record([message(message_id="2"), message(message_id="3")], "others") == 2
    assert ledger.ack(2) == [("others", 0, [Confirmed("2")])]
    assert ledger.record([message(message_id="4")], "fourth") == 4
    assert ledger.ack(3, multiple=True) == [
        ("first", 0, [Confirmed("1")]),
        ("others", 1, [Confirmed("3")]),
    ]
    assert len(ledger) == 1


def test_a_run_counts_from_where_its_owner_says() -> None:
    ledger = run_of("abc", position=7)
    assert ledger.ack(2, multiple=True) == [("run", 7, confirmed("ab"))]
    assert ledger.ack(3) == [("run", 9, confirmed("c"))]


def test_acks_split_a_run_where_they_have_to() -> None:
    ledger = run_of("abcdefg")
    assert ledger.ack(4) == [("run", 3, confirmed("d"))]
    assert ledger.ack(7) == [("run", 6, confirmed("g"))]
    assert ledger.ack(1) == [("run", 0, confirmed("a"))]
    assert ledger.ack(4) == []
    assert ledger.unexpected == 1
    assert ledger.ack(5, multiple=True) == [
        ("run", 1, confirmed("bc")),
        ("run", 4, confirmed("e")),
    ]
    assert len(ledger) == 1
    assert ledger.ack(6) == [("run", 5, confirmed("f"))]
    assert len(ledger) == 0


def test_a_nack_in_the_middle_of_a_run_is_for_that_one() -> None:
    ledger = run_of("abc")
    [(_, position, [outcome])] = ledger.nack(2)
    assert (position, outcome.message_id) == (1, "b")
    assert not outcome
    settled = ledger.ack(3, multiple=True)
    assert settled == [("run", 0, confirmed("a")), ("run", 2, confirmed("c"))]


def test_returns_in_the_middle_of_a_run_are_not_confirmed() -> None:
    ledger = run_of("abcd")
    for back in "bd":
        ledger.returned(message(message_id=back), 312, "NO_ROUTE")
    [(_, position, outcomes)] = ledger.ack(4, multiple=True)
    assert position == 0
    assert [bool(outcome) for outcome in outcomes] == [True, False, True, False]
    assert [outcome.message_id for outcome in outcomes] == list("abcd")


def test_a_lone_publish_that_was_returned_is_not_confirmed() -> None:
    ledger = run_of("a")
    ledger.returned(message(message_id="a"), 312, "NO_ROUTE")
    [(_, outcome)] = pairs(ledger.ack(1))
    assert isinstance(outcome, Rejected)
    assert outcome.reason is RejectReason.UNROUTABLE
    assert len(ledger) == 0
    ledger.record([message(message_id="b")], "owner")
    assert pairs(ledger.ack(2)) == [("owner", Confirmed("b"))]


def test_a_channel_that_closes_in_the_middle_of_a_run_leaves_the_rest_in_doubt() -> None:
    ledger = run_of("abcde")
    ledger.ack(3)
    ledger.returned(message(message_id="d"), 312, "NO_ROUTE")
    first, rest = ledger.close(ConnectionLost("cut"))
    assert (first[1], rest[1]) == (0, 3)
    kinds = [type(outcome) for outcome in (*first[2], *rest[2])]
    assert kinds == [Unknown, Unknown, Rejected, Unknown]
    assert len(ledger) == 0
    assert ledger.close(None) == []


def test_one_message_twice_in_a_run_is_two_publishes() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    same = message(message_id="same")
    ledger.record([same, same], "run")
    ledger.returned(same, 312, "NO_ROUTE")
    ledger.returned(same, 312, "NO_ROUTE")
    [(_, _, outcomes)] = ledger.ack(2, multiple=True)
    assert [bool(outcome) for outcome in outcomes] == [False, False]


def test_tag_zero_with_multiple_means_all_so_far() -> None:
    ledger: ConfirmLedger[int] = ConfirmLedger()
    for number in range(1, 4):
        ledger.record([message()], number)
    settled = pairs(ledger.nack(0, multiple=True))
    assert [owner for owner, _ in settled] == [1, 2, 3]
    assert all(
        isinstance(outcome, Rejected) and outcome.reason is RejectReason.NACKED
        for _, outcome in settled
    )


def test_an_answer_that_fits_nothing_is_counted_and_changes_nothing() -> None:
    ledger: ConfirmLedger[int] = ConfirmLedger()
    ledger.record([message()], 1)
    assert ledger.ack(7) == []
    ledger.returned(message("other"), 312, "NO_ROUTE")
    assert ledger.unexpected == 2
    assert len(ledger) == 1
    assert [owner for owner, _, _ in ledger.ack(9, multiple=True)] == [1]
    assert ledger.unexpected == 3


def test_a_return_is_told_by_body_when_message_ids_are_the_same() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message(body=b"a", message_id="same")], "a")
    ledger.record([message(body=b"b", message_id="same")], "b")
    ledger.returned(message(body=b"b", message_id="same"), 312, "NO_ROUTE")
    assert dict(pairs(ledger.ack(2, multiple=True))) == {
        "a": Confirmed("same"),
        "b": Rejected(RejectReason.UNROUTABLE, "312 NO_ROUTE", "same"),
    }


def test_a_return_is_told_by_headers_when_all_else_is_the_same() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message(headers={"to": "a"})], "a")
    ledger.record([message(headers={"to": "b"})], "b")
    ledger.returned(message(headers={"to": "b"}), 312, "NO_ROUTE")
    outcomes = dict(pairs(ledger.ack(2, multiple=True)))
    assert outcomes["a"]
    assert not outcomes["b"]


def test_a_return_whose_headers_the_broker_changed_still_finds_its_publish() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message("other")], "other")
    ledger.record([message(headers={"sent": 1})], "it")
    ledger.returned(message(headers={"sent": 1, "timestamp_in_ms": 5}), 312, "NO_ROUTE")
    outcomes = dict(pairs(ledger.ack(2, multiple=True)))
    assert outcomes["other"]
    assert not outcomes["it"]


def test_a_return_belongs_to_a_publish_after_the_last_returned_one() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message(headers={"n": 1})], "routed")
    ledger.record([message("other")], "returned first")
    ledger.record([message(headers={"n": 2})], "returned second")
    ledger.returned(message("other"), 312, "NO_ROUTE")
    ledger.returned(message(headers={"changed": "by the broker"}), 312, "NO_ROUTE")
    assert [bool(outcome) for _, outcome in pairs(ledger.ack(3, multiple=True))] == [
        True,
        False,
        False,
    ]


def test_a_publish_that_is_not_mandatory_is_never_the_returned_one() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([Message("x", "k", b"", mandatory=False)], "optional")
    ledger.record([Message("x", "k", b"")], "mandatory")
    ledger.returned(Message("x", "k", b""), 312, "NO_ROUTE")
    outcomes = dict(pairs(ledger.ack(2, multiple=True)))
    assert outcomes["optional"]
    assert not outcomes["mandatory"]


def test_a_return_that_comes_out_of_order_still_finds_its_publish() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message("early")], "early")
    ledger.record([message("late")], "late")
    ledger.returned(message("late"), 312, "NO_ROUTE")
    ledger.returned(message("early"), 312, "NO_ROUTE")
    assert [bool(outcome) for _, outcome in pairs(ledger.ack(2, multiple=True))] == [False, False]


def test_what_was_returned_is_rejected_even_if_the_ack_never_came() -> None:
    ledger: ConfirmLedger[str] = ConfirmLedger()
    ledger.record([message("gone")], "returned")
    ledger.record([message("here")], "doubtful")
    ledger.returned(message("gone"), 312, "NO_ROUTE")
    outcomes = dict(pairs(ledger.close(ConnectionLost("cut"))))
    assert isinstance(outcomes["returned"], Rejected)
    assert isinstance(outcomes["doubtful"], Unknown)
    assert len(ledger) == 0
    assert ledger.ack(2, multiple=True) == []


@dataclass
class Model:
    """A broker's possible answers, tried at random against the ledger."""

    ledger: ConfirmLedger[int] = field(default_factory=ConfirmLedger)
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    returned: set[int] = field(default_factory=set)
    published: int = 0

    def take(self, settled: list[Settled[int]]) -> list[int]:
        numbers = []
        for first, position, outcomes in settled:
            for number, outcome in enumerate(outcomes, first + position):
                assert number not in self.outcomes, f"{number} was settled twice"
                self.outcomes[number] = outcome
                numbers.append(number)
        return numbers

    def publish(self, count: int) -> None:
        """The owner of a run is its first message's number."""
        first, self.published = self.published + 1, self.published + count
        messages = [message(f"k{number % 3}") for number in range(first, first + count)]
        assert self.ledger.record(messages, first) == first

    def give_back(self, choice: int) -> None:
        """Brokers return in order, and before they ack."""
        newest = max(self.returned, default=0)
        open_ = [n for n in range(newest + 1, self.published + 1) if n not in self.outcomes]
        if open_:
            # Of several alike the first is taken: let the broker mean that one too.
            picked = open_[choice % len(open_)]
            first = next(n for n in open_ if n % 3 == picked % 3)
            self.ledger.returned(message(f"k{first % 3}"), 312, "NO_ROUTE")
            self.returned.add(first)

    def answer(self, tag: int, *, multiple: bool, ack: bool) -> None:
        verb = self.ledger.ack if ack else self.ledger.nack
        expected = [
            n
            for n in range(1, self.published + 1)
            if n not in self.outcomes and (n == tag or (multiple and (n <= tag or tag == 0)))
        ]
        assert self.take(verb(tag, multiple=multiple)) == expected
        for number in expected:
            outcome = self.outcomes[number]
            if number in self.returned:
                assert isinstance(outcome, Rejected)
                assert outcome.reason is RejectReason.UNROUTABLE
            else:
                assert bool(outcome) is ack


_steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(1, 5)),
        st.tuples(st.just("return"), st.integers(0, 50)),
        st.tuples(st.just("answer"), st.integers(0, 40), st.booleans(), st.booleans()),
    ),
    max_size=80,
)


@given(_steps)
def test_any_interleaving_settles_each_publish_exactly_once(
    steps: list[tuple[object, ...]],
) -> None:
    model = Model()
    for step in steps:
        match step:
            case ("publish", int(count)):
                model.publish(count)
            case ("return", int(choice)):
                model.give_back(choice)
            case ("answer", int(tag), bool(multiple), bool(ack)):
                model.answer(tag, multiple=multiple, ack=ack)
    model.take(model.ledger.close(ConnectionLost("cut")))
    assert sorted(model.outcomes) == list(range(1, model.published + 1))
    assert len(model.ledger) == 0
