"""Bugs planted in what keeps definitions, in queues that expire, in exclusive ones, and in bodies
of several chunks: the law of definitions, or the laws of the feature, must find each.

As in ``test_store_mutants.py``, a bug is made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from reference_broker.core.channel.channel import Channel
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import QueueDefinition, decode_queue
from reference_broker.core.queue.backlog import Backlog
from reference_broker.core.queue.expiry import UnusedExpiry
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost import topology, vhost
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.vhost.queue_declaration import stored_queue
from reference_broker.core.vhost.topology import Topology
from reference_broker.core.work.task import Steps
from reference_broker.simulation.plan.scenario import draw, with_features
from reference_broker.simulation.report import SeedResult, WorldFactory
from reference_broker.simulation.world import World
from reference_broker.store.format import record
from reference_broker.store.format.record import MessageHead
from reference_broker.store.format.scan import Found, Gap
from reference_broker.store.log import reading
from reference_broker.store.log.log import Log
from reference_broker.store.start import fold, recovery

SEEDS = range(200)
DURATION_US = 20_000_000

SHOWED_AT = {
    "declared_before_it_is_on_disk": 10, "only_the_first_goes_with_its_connection": 4,
}  # fmt: skip
"""Seeds at which a bug showed, for those that take long to find: these are looked at first."""

Plant = Callable[[pytest.MonkeyPatch], WorldFactory | None]
"""Plants one bug, and gives the worlds in which it shows; ``None`` where it does in small ones."""
Find = Callable[[str, Sequence[int], WorldFactory | None], SeedResult]


def with_feature(name: str) -> WorldFactory:
    """Small worlds in which the feature is at work."""

    def make(seed: int) -> World:
        return World(with_features(replace(draw(seed, DURATION_US), bit_rot=False), [name]))

    return make


# Definitions


def declared_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> WorldFactory:
    """The client is told at once."""

    def at_once(self: Channel, method: Any, *, durable: bool) -> None:
        self.reply(method)

    patch.setattr(Channel, "reply_defined", at_once)
    return with_feature("definitions")


def bindings_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    add_binding = Topology.add_binding

    def unlogged(self: Topology, binding: Binding) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(self._journal, "define", lambda key, value: None)
            add_binding(self, binding)

    patch.setattr(Topology, "add_binding", unlogged)


def arguments_forgotten_by_a_start(patch: pytest.MonkeyPatch) -> None:
    def forgetful(value: bytes) -> QueueDefinition:
        return decode_queue(value)._replace(arguments={})

    patch.setattr(topology, "decode_queue", forgetful)


def deletions_of_queues_are_not_logged(patch: pytest.MonkeyPatch) -> WorldFactory:
    define = Log.define

    def keep(self: Log, key: str, value: bytes | None) -> None:
        if value is not None or not key.startswith("queue/"):
            define(self, key, value)

    patch.setattr(Log, "define", keep)
    return with_feature("definitions")


def a_snapshot_leaves_out_its_last_definition(patch: pytest.MonkeyPatch) -> None:
    encode = record.encode_definitions

    def all_but_one(definitions: Mapping[str, bytes]) -> bytes:
        return encode(dict(list(definitions.items())[:-1]))

    patch.setattr(record, "encode_definitions", all_but_one)


# Queues that expire


def a_use_does_not_begin_the_time_anew(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(UnusedExpiry, "touch", lambda self: None)
    return with_feature("expires")


def a_consumer_is_no_use(patch: pytest.MonkeyPatch) -> WorldFactory:
    def fire(self: UnusedExpiry) -> None:
        if self._used_ms + self._expires_ms <= self._queue.env.moment.wall_ms:
            self._queue.env.queue_expired(self._queue)
        else:
            self._deadline = self._arm()

    patch.setattr(UnusedExpiry, "_fire", fire)
    return with_feature("expires")


def a_deadline_that_a_use_has_moved_is_lost(patch: pytest.MonkeyPatch) -> WorldFactory:
    def once(self: UnusedExpiry) -> None:
        if self.is_over():
            self._queue.env.queue_expired(self._queue)

    patch.setattr(UnusedExpiry, "_fire", once)
    return with_feature("expires")


def restored_queues_stay_for_ever(patch: pytest.MonkeyPatch) -> WorldFactory:
    def stored(*given: Any) -> Queue:
        queue = stored_queue(*given)
        if queue.unused_expiry is not None:
            queue.unused_expiry.cancel()
            queue.unused_expiry = None
        return queue

    patch.setattr(topology, "stored_queue", stored)
    return with_feature("expires")


# Exclusive queues


def only_the_first_goes_with_its_connection(patch: pytest.MonkeyPatch) -> WorldFactory:
    def release(self: ExclusiveQueues, owner: object, delete: Callable[[Queue], Steps]) -> Steps:
        owned = list(self._owned.get(owner, {}).values())
        for queue in owned[:1]:
            yield from delete(queue)

    patch.setattr(ExclusiveQueues, "release", release)
    return with_feature("exclusive")


def anybody_is_let_in(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(vhost, "require_access", lambda queue, owner, vhost_name: None)
    return with_feature("exclusive")


def they_are_logged_like_others(patch: pytest.MonkeyPatch) -> WorldFactory:
    def survives(queue: Queue) -> bool:
        return queue.durable or queue.owner is not None

    patch.setattr(topology, "survives_restart", survives)
    return with_feature("exclusive")


# Messages in chunks


def a_body_is_read_up_to_its_first_chunk(patch: pytest.MonkeyPatch) -> WorldFactory:
    chunks = reading._chunks

    def first(*given: Any) -> tuple[bytearray, int]:
        body, end = chunks(*given)
        rest = len(body) - record.CHUNK_BYTES
        return body[: record.CHUNK_BYTES] + bytes(rest), end

    patch.setattr(reading, "_chunks", first)
    return with_feature("large")


def a_start_takes_bodies_in_chunks_for_torn(patch: pytest.MonkeyPatch) -> WorldFactory:
    def only_whole(found: Found, head: MessageHead, chunks: Sequence[Found | Gap]) -> int | None:
        return None if head.chunks else found.end

    for module in (fold, recovery):
        patch.setattr(module, "chunks_end", only_whole)
    return with_feature("large")


# Reads that fail


def where_reads_fail(seed: int) -> World:
    scenario = replace(draw(seed, DURATION_US), bit_rot=False)
    return World(replace(with_features(scenario, ()), reads_fail=True))


def a_medium_that_reports_a_loss_is_an_accident(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(reading, "DAMAGE", frozenset())
    return where_reads_fail


def what_can_not_be_read_is_not_counted(patch: pytest.MonkeyPatch) -> WorldFactory:
    patch.setattr(Backlog, "note_lost", lambda self, count: None)
    return where_reads_fail


FOUND_BY: dict[str, tuple[Plant, ...]] = {
    "definitions": (
        declared_before_it_is_on_disk,
        bindings_are_not_logged,
        arguments_forgotten_by_a_start,
        deletions_of_queues_are_not_logged,
        a_snapshot_leaves_out_its_last_definition,
    ),
    "expires": (
        a_use_does_not_begin_the_time_anew,
        a_deadline_that_a_use_has_moved_is_lost,
        restored_queues_stay_for_ever,
    ),
    "exclusive": (
        only_the_first_goes_with_its_connection,
        anybody_is_let_in,
        they_are_logged_like_others,
    ),
    "content": (a_body_is_read_up_to_its_first_chunk,),
    "false alarm": (a_start_takes_bodies_in_chunks_for_torn,),
    "durability": (what_can_not_be_read_is_not_counted,),
    "Traceback": (a_medium_that_reports_a_loss_is_an_accident,),
    "protocol": (a_consumer_is_no_use,),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "law"),
    [(plant, law) for law, plants in FOUND_BY.items() for plant in plants],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_planted_bug_is_found(
    plant: Plant, law: str, monkeypatch: pytest.MonkeyPatch, find: Find
) -> None:
    at = SHOWED_AT.get(plant.__name__, 0)
    find(law, [*SEEDS[at:], *SEEDS[:at]], plant(monkeypatch))
