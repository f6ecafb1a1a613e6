"""cancel_notices: a client is told of consumers behind the -ok, but for those it has cancelled."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import BasicCancel, Method
from reference_broker.core.channel.cancel_notices import CancelNotices
from reference_broker.core.channel.channel_state import ChannelState
from reference_broker.core.channel.confirms import ConfirmLedger
from reference_broker.testing.recording_journal import RecordingJournal


class Told:
    """A channel that keeps what it would send."""

    def __init__(self) -> None:
        self.state = ChannelState.SUSPENDED
        self.methods: list[Method] = []

    def reply(self, method: Method) -> None:
        self.methods.append(method)

    @property
    def tags(self) -> list[str]:
        assert all(isinstance(each, BasicCancel) and each.nowait for each in self.methods)
        return [each.consumer_tag for each in self.methods if isinstance(each, BasicCancel)]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def notices(told: Told) -> CancelNotices:
    return CancelNotices(told)


@pytest.fixture
def ledger() -> ConfirmLedger:
    return ConfirmLedger(RecordingJournal())


def test_a_notice_waits_for_what_is_defined(
    told: Told, notices: CancelNotices, ledger: ConfirmLedger
) -> None:
    ledger.promise(10, notices.add("a"))
    ledger.promise(20, notices.add("b"))
    assert told.tags == []
    ledger.reached(10)
    assert told.tags == ["a"]
    ledger.reached(20)
    assert told.tags == ["a", "b"]


def test_who_has_cancelled_it_is_not_told(
    told: Told, notices: CancelNotices, ledger: ConfirmLedger
) -> None:
    ledger.promise(10, notices.add("a"))
    ledger.promise(10, notices.add("b"))
    notices.drop("a")
    notices.drop("unknown")
    ledger.reached(10)
    assert told.tags == ["b"]


def test_held_ones_come_when_they_are_released(told: Told, notices: CancelNotices) -> None:
    notices.are_held = True
    notices.add("a")
    assert told.tags == []
    notices.release()
    assert not notices.are_held
    assert told.tags == ["a"]


def test_a_channel_that_has_ended_is_told_nothing(
    told: Told, notices: CancelNotices, ledger: ConfirmLedger
) -> None:
    ledger.promise(10, notices.add("a"))
    told.state = ChannelState.CLOSED
    ledger.reached(10)
    assert told.tags == []


def test_a_disk_that_has_failed_says_nothing_of_it(
    told: Told, notices: CancelNotices, ledger: ConfirmLedger
) -> None:
    ledger.promise(10, notices.add("a"))
    ledger.fail()
    assert told.tags == []
