"""An import step by step: rehearsed, overtaken or not, and made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_broker.core.access.users import User, UserStore, hash_password
from reference_broker.core.base.vhost_info import VHostInfo
from reference_broker.core.broker import Broker
from reference_broker.core.journal.journal import MemoryJournal
from reference_broker.core.policy.policy import PolicyKind
from reference_broker.http.definitions.rehearsal import Rehearsal

FILE: dict[str, Any] = {
    "vhosts": [{"name": "new"}],
    "users": [{"name": "ann", "password_hash": "", "tags": ""}],
    "permissions": [
        {"user": "ann", "vhost": "new", "configure": ".*", "write": ".*", "read": ".*"}
    ],
    "policies": [
        {"vhost": "new", "name": "p", "pattern": "^q", "definition": {"max-length": 5}}
    ],
    "exchanges": [
        {"name": "x", "vhost": "new", "type": "topic", "durable": True, "auto_delete": False}
    ],
    "queues": [{"name": f"q{number}", "vhost": "new", "durable": True, "auto_delete": False}
               for number in range(50)],
    "bindings": [
        {"source": "x", "vhost": "new", "destination": f"q{number}", "destination_type": "queue",
         "routing_key": ""} for number in range(50)
    ],
}  # fmt: skip


@pytest.fixture
def broker() -> Broker:
    users = UserStore()
    users.add(User("guest", hash_password(b"guest", b"salt"), ("administrator",)))
    return Broker(MemoryJournal(), users)


def rehearsed(broker: Broker, body: dict[str, Any]) -> Rehearsal:
    rehearsal = Rehearsal(body, broker, None)
    list(rehearsal.read())
    return rehearsal


def test_a_step_is_an_item(broker: Broker) -> None:
    rehearsal, tail = Rehearsal(FILE, broker, None), broker.journal.tail
    items = sum(len(rows) for rows in FILE.values())
    assert len(list(rehearsal.read())) >= 2 * items - 5
    assert (rehearsal.faults, rehearsal.is_overtaken, broker.journal.tail) == ([], False, tail)
    assert len(list(rehearsal.apply({}))) == items
    assert len(broker.vhosts["new"].bindings_from("x")) == 50
    assert [each.name for each in broker.vhosts["new"].policies.of(PolicyKind.USER)] == ["p"]
    assert rehearsal.overtaken == []
    list(rehearsal.release())


def test_a_file_that_is_refused_has_changed_nothing(broker: Broker) -> None:
    tail = broker.journal.tail
    rehearsal = rehearsed(broker, {**FILE, "bindings": [*FILE["bindings"], 5]})
    assert rehearsal.faults == ["bindings, item 51: 5 is not an object"]
    list(rehearsal.release())
    assert (list(broker.vhosts), broker.journal.tail) == (["/"], tail)


def add_label(broker: Broker) -> None:
    broker.add_vhost("/", VHostInfo("other"))


def unbind(broker: Broker) -> None:
    broker.vhosts["/"].unbind("amq.topic", "old", "k", destination_is_queue=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda broker: broker.vhosts["/"].declare_queue("q"),
        lambda broker: broker.vhosts["/"].delete_queue("old"),
        lambda broker: broker.vhosts["/"].declare_exchange("x", "direct"),
        lambda broker: broker.vhosts["/"].delete_exchange("old"),
        lambda broker: broker.vhosts["/"].bind("amq.topic", "old", "", destination_is_queue=True),
        lambda broker: broker.add_vhost("new"),
        lambda broker: broker.access.put_user("new", hash_password(b"x", b"salt"), (), {}),
        lambda broker: broker.global_parameters.set("name", 1),
        add_label,
        unbind,
    ],
)
def test_what_others_change_makes_a_rehearsal_void(
    broker: Broker, change: Callable[[Broker], None]
) -> None:
    vhost = broker.vhosts["/"]
    vhost.declare_queue("old")
    vhost.declare_exchange("old", "direct")
    vhost.bind("amq.topic", "old", "k", destination_is_queue=True)
    row = {"name": "mine", "vhost": "/", "durable": True, "auto_delete": False}
    rehearsal = rehearsed(broker, {**FILE, "queues": [row, *FILE["queues"]]})
    assert not rehearsal.is_overtaken
    change(broker)
    assert rehearsal.is_overtaken


def test_what_others_change_in_other_virtual_hosts_does_not_matter(broker: Broker) -> None:
    """A client that declares without end in its own would have every import begin anew."""
    rehearsal = rehearsed(broker, FILE)
    assert rehearsal.vhost_names == ["new"]
    broker.vhosts["/"].declare_queue("q")
    broker.add_vhost("other")
    assert not rehearsal.is_overtaken
