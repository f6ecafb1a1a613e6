"""The simulator of several nodes finds what is planted into the definitions that they share, each
fault by a law that it breaks, within a few seeds."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from reference_broker.cluster.definitions import shared_definitions, shared_value
from reference_broker.cluster.definitions.definition_follower import DefinitionFollower
from reference_broker.cluster.definitions.leftovers import Leftovers
from reference_broker.cluster.definitions.node_definitions import NodeDefinitions
from reference_broker.cluster.definitions.orphans import Orphans
from reference_broker.cluster.definitions.shared_definitions import SharedDefinitions
from reference_broker.cluster.definitions.shared_value import SharedValue
from reference_broker.core.journal.watermark import Wait
from reference_broker.core.vhost.exclusive_queues import ExclusiveQueues
from reference_broker.core.vhost.queue_declaration import QueueDeclarations
from reference_broker.core.vhost.topology import Topology
from reference_broker.simulation.cluster import request, world

pytestmark = [pytest.mark.live, pytest.mark.slow]

SEEDS = 60
Patch = pytest.MonkeyPatch


def _names_are_all_that_counts(patch: Patch) -> None:
    """Definitions may speak of another object of that name."""
    encode = shared_value.encode

    def by_name(value: SharedValue) -> bytes:
        return encode(value._replace(speaks_of=()))

    patch.setattr(shared_definitions, "encode", by_name)


def _a_node_that_is_back_does_not_count(patch: Patch) -> None:
    """Queues of a node that was taken for gone are removed, though it is there again."""
    patch.setattr(request, "EXCLUSIVE_CHANCE", 0.5)
    add = Leftovers.add
    patch.setattr(Leftovers, "add", lambda self, key, guard=None: add(self, key))


def _a_change_makes_another_object(patch: Patch) -> None:
    """An exchange that a binding is written along with is a new one to whoever reads that."""
    encode = shared_value.encode
    patch.setattr(shared_definitions, "encode", lambda value: encode(value._replace(made_at=0)))


def _nobody_removes_leftovers(patch: Patch) -> None:
    patch.setattr(NodeDefinitions, "_sweeps", lambda self: False)


def _what_goes_with_a_node_stays(patch: Patch) -> None:
    patch.setattr(Orphans, "_look_at_all", lambda self: None)


def _a_leftover_that_was_written_again_is_removed(patch: Patch) -> None:
    patch.setattr(Leftovers, "_is_left", lambda self, key: True)
    sweep = Leftovers._sweep

    def blindly(self: Leftovers) -> None:
        for key in list(self._left):
            self.add(key)
        sweep(self)

    patch.setattr(Leftovers, "_sweep", blindly)


def _an_unbound_exchange_is_not_retired(patch: Patch) -> None:
    patch.setattr(SharedDefinitions, "retire", lambda self, key: None)
    patch.setattr(Topology, "_unbound_without", lambda self, going, gone: iter(()))
    patch.setattr(DefinitionFollower, "risen", lambda self: None)
    leaning = {"declare a queue": 6, "declare an exchange": 6, "bind": 4, "delete a queue": 4}
    weights = [leaning.get(kind, int(kind == "put a vhost")) for kind in request._KINDS]
    patch.setattr(request, "_WEIGHTS", weights)


def _each_node_judges_for_itself(patch: Patch) -> None:
    """An auto-delete exchange goes with its last binding, on the nodes that see it so."""
    take_out = Topology._take_out_binding

    def at_once(self: Topology, binding: Any) -> Any:
        gone = take_out(self, binding)
        source = self.exchanges.get(binding.source)
        if source is not None and source.auto_delete and not source.bindings:
            return self._take_out(source)
        return gone

    patch.setattr(Topology, "_take_out_binding", at_once)


def _a_binding_does_not_touch_its_exchange(patch: Patch) -> None:
    """Nobody knows of an auto-delete exchange that it was bound."""
    shared_binding = Topology._shared_binding
    patch.setattr(
        Topology, "_shared_binding", lambda self, binding: list(shared_binding(self, binding))[:1]
    )
    leaning = {
        "declare an exchange": 4,
        "bind": 9,
        "unbind": 9,
        "declare a queue": 3,
        "delete a queue": 1,
    }
    weights = [leaning.get(kind, int(kind == "put a vhost")) for kind in request._KINDS]
    patch.setattr(request, "_WEIGHTS", weights)
    patch.setattr(world, "REQUEST_CHANCE", 0.9)
    patch.setattr(world, "OPERATION_US", (1_000, 60_000))


def _an_ok_waits_for_nobody(patch: Patch) -> None:
    patch.setattr(
        SharedDefinitions,
        "wait",
        lambda self: Wait(0, ((self._node.barrier.passed, 0),)),
    )


def _an_exclusive_queue_outlives_its_connection(patch: Patch) -> None:
    def keep(self: ExclusiveQueues, owner: object, delete: Any) -> Any:
        yield from ()

    patch.setattr(ExclusiveQueues, "release", keep)


def _every_node_owns_an_exclusive_queue(patch: Patch) -> None:
    """So nobody's is a queue whose connection is another node's, and each ends it."""
    enter = QueueDeclarations.enter_agreed
    patch.setattr(QueueDeclarations, "enter_agreed", lambda self, it, home: enter(self, it, None))


def _bindings_of_what_is_gone_stay(patch: Patch) -> None:
    patch.setattr(DefinitionFollower, "forget", lambda self, key: None)


PLANTED: dict[Callable[[Patch], None], str] = {
    _names_are_all_that_counts: "too much, and lacks|nobody has removed|KeyError",
    _a_node_that_is_back_does_not_count: "its connection is there",
    _a_change_makes_another_object: "is gone, and nobody has deleted",
    _nobody_removes_leftovers: "nobody has removed",
    _what_goes_with_a_node_stays: "nobody has removed",
    _a_leftover_that_was_written_again_is_removed: "is gone, and nobody has deleted",
    _an_unbound_exchange_is_not_retired: "nobody has removed",
    _each_node_judges_for_itself: "too much, and lacks|KeyError",
    _a_binding_does_not_touch_its_exchange: "is gone, and nobody has deleted",
    _an_ok_waits_for_nobody: "says -ok for revision",
    _an_exclusive_queue_outlives_its_connection: "whose connection has ended",
    _every_node_owns_an_exclusive_queue: "is gone, and nobody has deleted|nobody has settled it",
    _bindings_of_what_is_gone_stay: "too much, and lacks|nobody has removed|KeyError",
}


@pytest.mark.parametrize("plant", PLANTED, ids=lambda plant: plant.__name__.strip("_"))
def test_it_is_found(
    plant: Callable[[Patch], None],
    monkeypatch: Patch,
    found_in: Callable[[Collection[int], str], None],
) -> None:
    plant(monkeypatch)
    found_in(range(SEEDS), PLANTED[plant])
