"""exchange.*: when each -ok leaves, and what is asked before anything is changed."""

from __future__ import annotations

import pytest

from mqkit.wire.methods import (
    ChannelClose,
    ExchangeBind,
    ExchangeBindOk,
    ExchangeDeclare,
    ExchangeDeclareOk,
    ExchangeDelete,
    ExchangeDeleteOk,
    ExchangeUnbind,
    ExchangeUnbindOk,
    Method,
)
from reference_broker.core.access.permission import Permission
from reference_broker.testing.lone_broker import LoneBroker, LoneClient
from reference_broker.testing.recording_journal import RecordingJournal


class Place:
    """A disk that syncs when it is told to, a durable exchange ``d``, and a transient one ``t``."""

    def __init__(self) -> None:
        self.lone = LoneBroker(RecordingJournal())
        self.client: LoneClient = self.lone.client()
        self.client.send(1, ExchangeDeclare("d", "fanout", durable=True))
        self.client.send(1, ExchangeDeclare("t", "fanout"))
        self.lone.sync()
        self.client.received()

    def answers(self, method: Method) -> tuple[list[Method], list[Method]]:
        """To ``method``: at once, and when the disk is done."""
        self.client.send(1, method)
        at_once = self.client.methods()
        self.lone.sync()
        return at_once, self.client.methods()

    def bindings(self) -> list[tuple[str, str]]:
        bindings = self.lone.broker.vhosts["/"].bindings()
        return [(binding.source, binding.destination) for binding in bindings]


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (ExchangeDeclare("new", "topic", durable=True), ExchangeDeclareOk()),
        (ExchangeDelete("d"), ExchangeDeleteOk()),
        (ExchangeBind("d", "amq.fanout", ""), ExchangeBindOk()),
        (ExchangeUnbind("d", "amq.fanout", ""), ExchangeUnbindOk()),
    ],
)
def test_the_ok_for_a_durable_exchange_waits_for_the_disk(
    place: Place, method: Method, answer: Method
) -> None:
    if isinstance(method, ExchangeUnbind):
        place.client.send(1, ExchangeBind("d", "amq.fanout", "", nowait=True))
        place.lone.sync()
    assert place.answers(method) == ([], [answer])


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        (ExchangeDeclare("new", "topic"), ExchangeDeclareOk()),
        (ExchangeDelete("t"), ExchangeDeleteOk()),
        (ExchangeBind("t", "amq.fanout", ""), ExchangeBindOk()),
        (ExchangeUnbind("t", "amq.fanout", ""), ExchangeUnbindOk()),
    ],
)
def test_the_ok_for_a_transient_exchange_waits_for_nothing(
    place: Place, method: Method, answer: Method
) -> None:
    place.client.send(1, ExchangeDeclare("unsynced", "fanout", durable=True, nowait=True))
    assert place.answers(method) == ([answer], [])


def test_a_passive_declaration_does_not_wait_even_for_a_durable_exchange(place: Place) -> None:
    place.client.send(1, ExchangeDeclare("unsynced", "fanout", durable=True, nowait=True))
    passive = ExchangeDeclare("unsynced", "fanout", passive=True)
    assert place.answers(passive) == ([ExchangeDeclareOk()], [])


def test_a_deletion_of_what_is_not_there_waits_for_the_one_that_deleted_it(place: Place) -> None:
    place.client.send(1, ExchangeDelete("d", nowait=True))
    assert place.answers(ExchangeDelete("d")) == ([], [ExchangeDeleteOk()])


@pytest.mark.parametrize(
    "method",
    [
        ExchangeDeclare("new", "topic", durable=True, nowait=True),
        ExchangeBind("d", "t", "", nowait=True),
        ExchangeUnbind("d", "t", "", nowait=True),
        ExchangeDelete("d", nowait=True),
    ],
)
def test_nobody_is_answered_who_does_not_want_it(place: Place, method: Method) -> None:
    assert place.answers(method) == ([], [])


def test_a_binding_leads_from_the_source_to_the_destination(place: Place) -> None:
    place.client.send(1, ExchangeBind("d", "t", "key"))
    assert place.bindings() == [("t", "d")]
    place.client.send(1, ExchangeUnbind("d", "t", "other"))
    assert place.bindings() == [("t", "d")]
    place.client.send(1, ExchangeUnbind("d", "t", "key"))
    assert place.bindings() == []


@pytest.mark.parametrize("method", [ExchangeBind("d", "t", ""), ExchangeUnbind("d", "t", "")])
def test_bindings_are_changed_by_who_may_read_one_end_and_write_the_other(
    place: Place, method: Method
) -> None:
    access = place.lone.broker.access
    place.client.send(1, ExchangeBind("d", "t", "", nowait=True))
    place.lone.sync()
    place.client.received()
    before = place.bindings()
    access.set_permission("guest", "/", Permission.of("", "", "t"))
    place.client.send(1, method)
    [close] = place.client.methods()
    assert isinstance(close, ChannelClose)
    assert (close.reply_code, close.class_id) == (403, 40)
    assert place.bindings() == before


def test_a_condition_is_handed_on(place: Place) -> None:
    place.client.send(1, ExchangeBind("d", "t", "", nowait=True), ExchangeDelete("t", True))
    [close] = place.client.methods()
    assert isinstance(close, ChannelClose)
    assert close.reply_text == "PRECONDITION_FAILED - exchange 't' in vhost '/' in use"
