"""Bugs in what keeps definitions, in queues that expire, and in exclusive ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import with_feature
from reference_broker.core.channel.channel import Channel
from reference_broker.core.exchange.definitions import QueueDefinition, decode_queue
from reference_broker.core.queue.expiry import UnusedExpiry
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost import binding_declaration, queue_declaration, topology
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.vhost.queue_declaration import stored_queue
from reference_broker.core.vhost.topology import Topology
from reference_broker.core.work.task import Steps
from reference_broker.store.format import record
from reference_broker.store.log.log import Log

# Definitions


@mutant("definitions", worlds=with_feature("definitions"), showed_at=13)
def declared_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    """The client is told at once."""

    def at_once(self: Channel, method: Any, *, durable: bool) -> None:
        self.reply(method)

    patch.setattr(Channel, "reply_defined", at_once)


@mutant("definitions")
def bindings_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Topology, "agree_on_binding", lambda self, binding: None)


@mutant("definitions")
def arguments_forgotten_by_a_start(patch: pytest.MonkeyPatch) -> None:
    def forgetful(value: bytes) -> QueueDefinition:
        return decode_queue(value)._replace(arguments={})

    patch.setattr(topology, "decode_queue", forgetful)


@mutant("definitions", worlds=with_feature("definitions"))
def deletions_of_queues_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    define = Log.define

    def keep(self: Log, key: str, value: bytes | None) -> None:
        if value is not None or not key.startswith("queue/"):
            define(self, key, value)

    patch.setattr(Log, "define", keep)


@mutant("definitions")
def a_snapshot_leaves_out_its_last_definition(patch: pytest.MonkeyPatch) -> None:
    encode = record.encode_definitions

    def all_but_one(definitions: Mapping[str, bytes]) -> bytes:
        return encode(dict(list(definitions.items())[:-1]))

    patch.setattr(record, "encode_definitions", all_but_one)


# Queues that expire


@mutant("expires", worlds=with_feature("expires"))
def a_use_does_not_begin_the_time_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnusedExpiry, "touch", lambda self: None)


@mutant("protocol", worlds=with_feature("expires"), showed_at=2)
def a_consumer_is_no_use(patch: pytest.MonkeyPatch) -> None:
    def fire(self: UnusedExpiry) -> None:
        if self._used_ms + self._expires_ms <= self._queue.env.moment.wall_ms:
            self._queue.env.queue_expired(self._queue)
        else:
            self._deadline = self._arm()

    patch.setattr(UnusedExpiry, "_fire", fire)


@mutant("expires", worlds=with_feature("expires"))
def a_deadline_that_a_use_has_moved_is_lost(patch: pytest.MonkeyPatch) -> None:
    def once(self: UnusedExpiry) -> None:
        if self.is_over():
            self._queue.env.queue_expired(self._queue)

    patch.setattr(UnusedExpiry, "_fire", once)


@mutant("expires", worlds=with_feature("expires"))
def restored_queues_stay_for_ever(patch: pytest.MonkeyPatch) -> None:
    def stored(*given: Any) -> Queue:
        queue = stored_queue(*given)
        if queue.unused_expiry is not None:
            queue.unused_expiry.cancel()
            queue.unused_expiry = None
        return queue

    patch.setattr(topology, "stored_queue", stored)


# Exclusive queues


@mutant("exclusive", worlds=with_feature("exclusive"), showed_at=4)
def only_the_first_goes_with_its_connection(patch: pytest.MonkeyPatch) -> None:
    def release(self: ExclusiveQueues, owner: object, delete: Callable[[Queue], Steps]) -> Steps:
        owned = list(self._owned.get(owner, {}).values())
        for queue in owned[:1]:
            yield from delete(queue)

    patch.setattr(ExclusiveQueues, "release", release)


@mutant("exclusive", worlds=with_feature("exclusive"))
def anybody_is_let_in(patch: pytest.MonkeyPatch) -> None:
    for module in (queue_declaration, binding_declaration):
        patch.setattr(module, "require_access", lambda queue, owner, vhost_name: None)


@mutant("exclusive", worlds=with_feature("exclusive"))
def they_are_logged_like_others(patch: pytest.MonkeyPatch) -> None:
    def survives(queue: Queue) -> bool:
        return queue.durable or queue.owner is not None

    def lasts(queue: QueueDefinition) -> bool:
        return queue.durable or queue.exclusive

    patch.setattr(topology, "survives_restart", survives)
    patch.setattr(QueueDefinition, "survives_restart", property(lasts))
