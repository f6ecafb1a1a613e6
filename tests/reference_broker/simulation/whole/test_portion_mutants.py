"""Bugs planted in work that is done in portions: a script must end otherwise with them.

Those that the simulator must find are in ``mutants/planted/portions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import wraps
from typing import Any

import pytest

from reference_broker.core.channel import release, settlement
from reference_broker.core.index.index import QueueIndex
from reference_broker.core.queue import removal
from reference_broker.core.queue.dirty_queues import DirtyQueues
from reference_broker.core.queue.fan_out import FanOut
from reference_broker.core.queue.queue import Queue
from reference_broker.core.vhost.binding_removal import BindingRemoval
from reference_broker.core.work.budget import Budget
from reference_broker.simulation.report import SeedResult, WorldFactory
from reference_broker.testing.scripts.comparing import difference
from reference_broker.testing.scripts.playing import Play
from reference_broker.testing.scripts.writing import write

SCRIPTS = 60
SEEDS = range(150)
DURATION_US = 20_000_000

Plant = Callable[[pytest.MonkeyPatch], None]
Find = Callable[[str, Sequence[int], WorldFactory | None], SeedResult]


def first_portion(steps_of: Callable[..., Any]) -> Callable[..., Any]:
    """The same steps up to the first end of a turn; then they are over."""

    @wraps(steps_of)
    def cut(*given: Any) -> Generator[Any, None, int]:
        for until in steps_of(*given):
            if until is None:
                break
            yield until
        return 0

    return cut


def rest_of_a_fan_out_forgotten(patch: pytest.MonkeyPatch) -> None:
    advance = FanOut.advance

    def once(self: FanOut) -> bool:
        advance(self)
        return True

    patch.setattr(FanOut, "advance", once)


def rest_of_acks_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settlement, "ack_all", first_portion(settlement.ack_all))


def rest_of_rejects_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settlement, "reject_all", first_portion(settlement.reject_all))


def rest_of_requeues_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settlement, "requeue_all", first_portion(settlement.requeue_all))


def rest_of_a_purge_forgotten(patch: pytest.MonkeyPatch) -> None:
    remove_ready = removal.remove_ready

    def within_the_turn(queue: Queue, index: QueueIndex, below: int) -> Generator[None, None, int]:
        yield from ()
        before = queue.ready
        if queue.env.budget.left > 0:
            next(remove_ready(queue, index, below), None)
        return before - queue.ready

    patch.setattr(removal, "remove_ready", within_the_turn)


def rest_of_the_bindings_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Those of a queue or exchange that is deleted."""
    advance = BindingRemoval.advance

    def once(self: BindingRemoval, budget: Budget) -> bool:
        advance(self, budget)
        return True

    patch.setattr(BindingRemoval, "advance", once)


def rest_of_a_channel_kept(patch: pytest.MonkeyPatch) -> None:
    """Deliveries that it holds when it or its connection ends never come back, but the first."""
    patch.setattr(release, "_give_back", first_portion(release._give_back))


def handed_out_within_a_return(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Queue, "begin_return", lambda self: None)
    patch.setattr(Queue, "end_return", Queue.came_back)


def leftover_queues_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Those of a virtual host that a turn had no time to dispatch."""
    advance = DirtyQueues.advance

    def once(self: DirtyQueues) -> bool:
        advance(self)
        return True

    patch.setattr(DirtyQueues, "advance", once)


@pytest.mark.parametrize(
    "plant",
    [
        rest_of_a_fan_out_forgotten,
        rest_of_acks_forgotten,
        rest_of_rejects_forgotten,
        rest_of_requeues_forgotten,
        rest_of_a_purge_forgotten,
        rest_of_the_bindings_forgotten,
        rest_of_a_channel_kept,
        handed_out_within_a_return,
        leftover_queues_forgotten,
    ],
)
def test_a_script_ends_otherwise(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch)
    for seed in range(SCRIPTS):
        script, whole = write(seed)
        portions = Play(units=1)
        for given in script:
            portions.take(given)
        try:
            found = difference(whole, portions)
        except AssertionError as no_answer:
            found = str(no_answer)
        if found:
            print(f"script {seed}: {found}")
            return
    pytest.fail(f"{SCRIPTS} scripts end in the same state")
