"""The confirm ledger where the disk is not all: a line waits for watermarks, and the lines of a
channel leave in order all the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import Properties
from mqkit.wire.methods import BasicAck, BasicNack, QueueDeclare
from reference_broker.core.channel.confirms import ChannelConfirms, ConfirmLedger
from reference_broker.core.journal.watermark import Wait, Watermark
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


class Rig:
    """A client with confirms, a durable queue ``d`` on a slow disk, a transient one ``t``, and a
    watermark."""

    def __init__(self) -> None:
        self.lone = LoneBroker(RecordingJournal())
        self.client: LoneClient = self.lone.client()
        self.client.send(1, QueueDeclare("d", durable=True), QueueDeclare("t"))
        self.lone.sync()
        self.client.select_confirms(1)
        self.mark = Watermark()
        self.client.methods()

    @property
    def ledger(self) -> ConfirmLedger:
        return self.lone.broker.ledger

    @property
    def confirms(self) -> ChannelConfirms:
        (connection,) = self.lone.broker.connections.values()
        confirms = connection.channels[1].confirms
        assert confirms is not None
        return confirms

    def publish(self, queue: str, at: int | None = None) -> None:
        """One publish; with ``at`` its confirm waits for the watermark to be there."""
        if at is not None:
            self.confirms.marks = ((self.mark, at),)
        self.client.publish(queue, properties=Properties(delivery_mode=2))


class Note:
    """A promise that is noted."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def kept(self) -> None:
        self.told.append("kept")

    def broken(self) -> None:
        self.told.append("broken")


def test_a_line_waits_for_the_disk_and_for_its_mark_whichever_comes_last() -> None:
    rig = Rig()
    rig.publish("d", at=5)
    rig.mark.rise(5)
    assert rig.client.methods() == []
    rig.lone.sync()
    assert rig.client.methods() == [BasicAck(1, False)]
    rig.publish("d", at=6)
    rig.lone.sync()
    assert (rig.client.methods(), len(rig.ledger)) == ([], 1)
    rig.mark.rise(6)
    assert (rig.client.methods(), len(rig.ledger)) == ([BasicAck(2, False)], 0)


def test_a_line_that_is_met_waits_for_an_earlier_one_of_its_channel() -> None:
    rig = Rig()
    rig.publish("t", at=1)
    rig.publish("d")
    rig.publish("t")
    rig.lone.sync()
    assert rig.client.methods() == []
    rig.mark.rise(1)
    assert rig.client.methods() == [BasicAck(3, True)]
    assert rig.confirms.lines is None
    rig.publish("t")
    assert rig.client.methods() == [BasicAck(4, False)]


def test_another_channel_does_not_wait() -> None:
    rig = Rig()
    rig.publish("t", at=1)
    other = rig.lone.client()
    other.select_confirms(1)
    other.methods()
    other.publish("t")
    assert (rig.client.methods(), other.methods()) == ([], [BasicAck(1, False)])


def test_a_full_disk_nacks_what_waits_for_it_and_what_was_before() -> None:
    rig = Rig()
    rig.publish("t", at=1)
    rig.publish("d", at=2)
    rig.ledger.nack_publishes()
    assert rig.client.methods() == [BasicNack(1, False), BasicNack(2, False)]
    rig.mark.rise(2)
    rig.lone.sync()
    assert (rig.client.methods(), len(rig.ledger)) == ([], 0)
    rig.publish("t")
    assert rig.client.methods() == [BasicAck(3, False)]


def test_a_disk_that_fails_breaks_every_promise_once() -> None:
    rig, note = Rig(), Note()
    rig.publish("d", at=1)
    rig.ledger.promise(0, note, ((rig.mark, 1),))
    rig.ledger.fail()
    rig.mark.rise(1)
    assert (note.told, rig.client.methods()) == (["broken"], [BasicNack(1, False)])
    assert rig.ledger.is_over(Wait(10**9, ((rig.mark, 10**9),)))


def test_a_promise_waits_for_each_of_its_marks() -> None:
    rig, note, other = Rig(), Note(), Watermark()
    wait = Wait(0, ((rig.mark, 3), (other, 4)))
    assert not rig.ledger.is_over(wait)
    rig.ledger.promise(wait.position, note, wait.marks)
    rig.mark.rise(3)
    assert (note.told, rig.ledger.is_over(wait)) == ([], False)
    other.rise(9)
    assert (note.told, rig.ledger.is_over(wait)) == (["kept"], True)
    rig.ledger.promise(wait.position, note, wait.marks)
    assert note.told == ["kept", "kept"]


@given(
    st.lists(st.tuples(st.sampled_from("dt"), st.none() | st.integers(1, 6)), max_size=12),
    st.lists(st.sampled_from(["sync", "rise", "publish"]), max_size=30),
)
def test_no_publish_is_confirmed_before_its_time_and_each_is_in_the_end(
    publishes: list[tuple[str, int | None]], steps: list[str]
) -> None:
    rig = Rig()
    waiting: list[tuple[int, int]] = []
    left = list(publishes)

    def publish() -> None:
        queue, at = left.pop(0)
        rig.publish(queue, at)
        waiting.append((rig.lone.journal.tail if queue == "d" else 0, at or 0))

    for step in steps:
        if step == "publish" and left:
            publish()
        elif step == "sync":
            rig.lone.sync()
        elif step == "rise":
            rig.mark.rise(rig.mark.value + 1)
        met = [
            position <= rig.lone.journal.synced and at <= rig.mark.value for position, at in waiting
        ]
        assert rig.confirms.settled == (met.index(False) if False in met else len(met))
    while left:
        publish()
    rig.lone.sync()
    rig.mark.rise(6)
    assert (rig.confirms.settled, len(rig.ledger)) == (len(publishes), 0)
