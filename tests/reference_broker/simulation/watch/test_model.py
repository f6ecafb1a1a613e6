from __future__ import annotations

from collections import Counter

import pytest

from reference_broker.simulation.events.clock import SimulatedClock
from reference_broker.simulation.events.events import (
    BitRot,
    Copy,
    Message,
    Removal,
    RemovalKind,
    Start,
)
from reference_broker.simulation.plan.plans import QueuePlan
from reference_broker.simulation.watch.model import Account, Fate, ReferenceModel, lifetime_ms

PLANS = (
    QueuePlan("plain"),
    QueuePlan("fleeting", durable=False),
    QueuePlan("timed", ttl_ms=100),
    QueuePlan("short", max_length=2),
    QueuePlan("both", ttl_ms=100, max_length=2),
    QueuePlan("dead"),
    QueuePlan("dying", dead_letters_to="dead", ttl_ms=100),
    QueuePlan("gone", durable=False),
    QueuePlan("leaving", dead_letters_to="gone", max_length=2),
)
LATE_MS = 10_000


class Script:
    """A model, and what has happened so far."""

    def __init__(self) -> None:
        self.model = ReferenceModel({plan.name: plan for plan in PLANS}, SimulatedClock())
        self.stamp = 0
        self.number = 0

    def publish(self, *queues: str, persistent: bool = True, life: int = 1) -> int:
        """One confirmed message."""
        self.number += 1
        self.stamp += 1
        message = Message(
            self.number, 1, queues, persistent, 0, stamp=self.stamp, wall_ms=0, life=life
        )
        self.model.published(message)
        self.model.confirmed(message)
        return self.number

    def remove(self, kind: RemovalKind, queue: str, *, done: bool) -> Removal:
        self.stamp += 1
        removal = Removal(kind, queue, 1, self.stamp, done=self.stamp if done else None)
        self.model.removal(removal)
        return removal

    def start(self, life: int, *, orphans: int = 0, **lost: int) -> None:
        self.stamp += 1
        damaged = bool(lost or orphans)
        start = Start({}, self.stamp, 0, damaged=damaged, lost=Counter(lost), orphans=orphans)
        self.model.started(start, life)

    def account(self, *present: tuple[str, int], wall_ms: int = LATE_MS) -> Account:
        return self.model.account(lambda *place: place in present, wall_ms)

    def fates(self, *present: tuple[str, int], wall_ms: int = LATE_MS) -> dict[Fate, int]:
        account = self.account(*present, wall_ms=wall_ms)
        assert account.lost == 0, account.first_lost
        return dict(account.gone)


def test_a_message_that_nobody_took_is_there_or_lost() -> None:
    script = Script()
    number = script.publish("plain", "dying")
    assert script.fates(("plain", number), ("dying", number)) == {}
    account = script.account(("dying", number))
    assert account.lost == 1
    assert account.first_lost is not None
    assert account.first_lost.plan.name == "plain"


def test_what_was_not_confirmed_may_be_there_or_not() -> None:
    script = Script()
    script.model.published(Message(1, 1, ("plain",), True, 0))
    assert script.fates() == {}


def test_what_a_client_settled_is_accounted_for_wherever_it_was() -> None:
    script = Script()
    plain, moved = script.publish("plain"), script.publish("dying")
    script.model.settled("plain", plain, Fate.SETTLED)
    script.model.settled("dead", moved, Fate.AUTO_ACKED)
    assert script.fates() == {Fate.SETTLED: 1, Fate.AUTO_ACKED: 1}


def test_a_dead_letter_must_be_found_where_it_went() -> None:
    script = Script()
    number = script.publish("dying")
    script.model.life_ended({"dying": Counter(expired=1)})
    assert script.fates(("dead", number)) == {}
    assert script.account().lost == 1


def test_a_dead_letter_in_a_queue_that_is_not_durable_is_there_until_a_start() -> None:
    script = Script()
    script.start(1)
    number = script.publish("leaving")
    script.model.rejected("leaving", number)
    assert script.account().lost == 1
    script.start(2)
    assert script.fates() == {Fate.TRANSIENT: 1}
    other = script.publish("leaving", life=2)
    assert script.account().lost == 1
    script.model.rejected("leaving", other)
    assert script.account().lost == 1


def test_what_was_dropped_into_such_a_queue_was_counted() -> None:
    script = Script()
    script.start(1)
    for _ in range(3):
        script.publish("leaving")
    script.model.life_ended({"leaving": Counter(maxlen=1)})
    assert script.account(("leaving", 2), ("leaving", 3)).lost == 1
    script.start(2)
    assert script.fates(("leaving", 2), ("leaving", 3)) == {Fate.MAXLEN: 1}
    assert script.account(("leaving", 3)).lost == 1


def test_nothing_expires_before_its_time_nor_uncounted() -> None:
    script = Script()
    script.publish("timed")
    assert script.account().lost == 1
    script.model.life_ended({"timed": Counter(expired=1)})
    assert script.account(wall_ms=99).lost == 1
    assert script.fates(wall_ms=100) == {Fate.EXPIRED: 1}
    script.publish("timed")
    assert script.account().lost == 1


def test_a_limit_drops_only_what_enough_others_came_behind() -> None:
    script = Script()
    numbers = [script.publish("short") for _ in range(4)]
    script.model.life_ended({"short": Counter(maxlen=9)})
    newest = [("short", number) for number in numbers[2:]]
    assert script.fates(*newest) == {Fate.MAXLEN: 2}
    assert script.account(newest[1]).lost == 1


@pytest.mark.parametrize(("expired", "dropped", "lost"), [(2, 1, 0), (3, 0, 0), (0, 3, 1)])
def test_each_fate_takes_only_as_many_as_were_counted(
    expired: int, dropped: int, lost: int
) -> None:
    """Three are gone, and the last of them had not enough behind it to be dropped."""
    script = Script()
    numbers = [script.publish("both") for _ in range(4)]
    script.model.life_ended({"both": Counter(expired=expired, maxlen=dropped)})
    account = script.account(("both", numbers[3]))
    assert account.lost == lost
    assert sum(account.gone.values()) == 3 - lost


@pytest.mark.parametrize("done", [True, False])
def test_a_purge_takes_what_came_before_it_was_handled(done: bool) -> None:
    script = Script()
    script.publish("plain")
    script.remove(RemovalKind.PURGE, "plain", done=done)
    script.start(2)
    later = script.publish("plain")
    assert script.account(("plain", later)).lost == 1
    script.model.life_ended({"plain": Counter(purged=5)})
    assert script.fates(("plain", later)) == {Fate.PURGED: 1}
    assert script.account().lost == 1


def test_a_deletion_takes_what_came_before_it() -> None:
    script = Script()
    script.publish("plain")
    script.remove(RemovalKind.DELETE, "plain", done=False)
    later = script.publish("plain")
    assert script.fates(("plain", later)) == {Fate.DELETED: 1}
    assert script.account().lost == 1


def test_what_is_not_for_the_disk_is_owed_until_the_next_start() -> None:
    script = Script()
    script.start(1)
    script.publish("plain", persistent=False)
    script.publish("fleeting")
    assert script.account().lost == 2
    script.start(2)
    assert script.fates() == {Fate.TRANSIENT: 2}


def test_a_get_without_an_answer_may_have_taken_one_message() -> None:
    script = Script()
    script.publish("plain")
    script.model.blind_get("plain", 1)
    assert script.fates() == {Fate.AUTO_ACKED: 1}
    script.publish("plain")
    assert script.account().lost == 1
    script.model.blind_get("plain", -1)
    assert script.account().lost == 2


def test_damage_takes_what_stood_there_and_only_if_it_is_counted() -> None:
    script = Script()
    struck, other = script.publish("plain"), script.publish("plain")
    script.model.bit_flipped(BitRot("file", (struck,), False, False, script.stamp))
    script.start(2)
    assert script.account(("plain", other)).lost == 1
    script.start(3, short=1)
    assert script.account(("plain", other)).lost == 1
    script.start(4, plain=1)
    assert script.fates(("plain", other)) == {Fate.DAMAGED: 1}
    assert script.account().lost == 1


def test_what_is_found_by_reading_is_counted_too_and_once() -> None:
    script = Script()
    struck = [script.publish("dying"), script.publish("dying")]
    script.model.bit_flipped(BitRot("file", tuple(struck), False, False, script.stamp))
    script.start(2, dead=1)
    script.model.life_ended({"dead": Counter(damaged=1)})
    account = script.account()
    assert (account.gone, account.lost) == ({Fate.DAMAGED: 1}, 1)


def test_a_lost_definition_takes_what_came_until_the_next_start() -> None:
    script = Script()
    script.publish("plain")
    script.model.bit_flipped(BitRot("file", (), False, True, script.stamp))
    script.publish("plain")
    script.start(2, orphans=2)
    later = script.publish("plain")
    assert script.fates(("plain", later)) == {Fate.DAMAGED: 2}
    assert script.account().lost == 1


def test_the_shorter_lifetime_holds() -> None:
    message = Message(1, 1, (), True, 0, expiration_ms=50)
    assert lifetime_ms(message, PLANS[0]) == 50
    assert lifetime_ms(message, QueuePlan("q", ttl_ms=20)) == 20
    assert lifetime_ms(Message(1, 1, (), True, 0), PLANS[0]) is None


def test_a_copy_counts_its_deaths() -> None:
    assert Copy(1).deaths == 0
