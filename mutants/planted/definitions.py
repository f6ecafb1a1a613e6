"""Bugs in what keeps definitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mutants.mutant import mutant
from mutants.worlds import with_feature
from reference_broker.core.channel.channel import Channel
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import QueueDefinition, decode_queue
from reference_broker.core.vhost import topology
from reference_broker.core.vhost.topology import Topology
from reference_broker.store.format import record
from reference_broker.store.log.log import Log


@mutant("definitions", worlds=with_feature("definitions"), showed_at=10)
def declared_before_it_is_on_disk(patch: pytest.MonkeyPatch) -> None:
    """The client is told at once."""

    def at_once(self: Channel, method: Any, *, durable: bool) -> None:
        self.reply(method)

    patch.setattr(Channel, "reply_defined", at_once)


@mutant("definitions")
def bindings_are_not_logged(patch: pytest.MonkeyPatch) -> None:
    add_binding = Topology.add_binding

    def unlogged(self: Topology, binding: Binding) -> None:
        with pytest.MonkeyPatch.context() as there:
            there.setattr(self._journal, "define", lambda key, value: None)
            add_binding(self, binding)

    patch.setattr(Topology, "add_binding", unlogged)


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
