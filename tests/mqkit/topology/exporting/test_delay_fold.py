"""Delays taken out of a snapshot: exactly those that a file would declare."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mqkit.declaration import Binding, Declaration, Exchange, Queue
from mqkit.topology import Snapshot, compile_topology, export, loads
from mqkit.topology.exporting.delay_fold import fold_delays

ORDERS = """\
vhost: "/"
exchanges:
  orders:
    type: topic
    delays: [5m, 1h]
queues:
  paid:
    bind:
      - {from: orders, key: order.paid}
"""
NAME = "orders.delay.5m"


def live(*more: Declaration) -> Snapshot:
    return Snapshot.of("/", (*compile_topology(loads(ORDERS)), *more))


def test_a_file_with_delays_comes_back_as_it_was_written() -> None:
    assert export(live()) == ORDERS


def test_a_delay_of_a_delay_exchange_keeps_that_one_in_the_file() -> None:
    inner = compile_topology(loads("exchanges: {orders.delay.5m: {type: fanout, delays: [1s]}}"))
    snapshot, delays = fold_delays(live(*inner[1:]))
    assert delays == {"orders": (3_600_000,), NAME: (1_000,)}
    assert Exchange(NAME, type="fanout") in snapshot.exchanges


@pytest.mark.parametrize(
    "more",
    [
        Binding("orders", NAME, "x"),
        Binding(NAME, "paid"),
        Exchange("other", arguments={"alternate-exchange": NAME}),
        Queue("other", arguments={"x-dead-letter-exchange": NAME}),
        Queue(
            "other",
            arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": NAME},
        ),
    ],
)
def test_a_delay_that_something_else_speaks_of_is_written_out(more: Declaration) -> None:
    assert fold_delays(live(more))[1] == {"orders": (3_600_000,)}
    text = export(live(more))
    assert f"  {NAME}:\n    type: fanout\n" in text
    again = Snapshot.of("/", compile_topology(loads(text)))
    assert set(map(repr, again.declarations)) == set(map(repr, live(more).declarations))


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_delay_of_which_a_part_is_missing_is_written_out(part: int) -> None:
    whole = live()
    gone: list[Declaration] = [Exchange(NAME, type="fanout"), whole.queues[0].queue]
    gone.append(Binding(NAME, NAME))
    left = tuple(item for item in whole.declarations if item != gone[part])
    assert len(left) == len(whole.declarations) - 1
    assert fold_delays(Snapshot.of("/", left))[1] == {"orders": (3_600_000,)}


def test_a_delay_that_differs_is_written_out() -> None:
    whole = live()
    queues = tuple(
        replace(item, queue=replace(item.queue, arguments={**item.queue.arguments, "x-expires": 9}))
        if item.queue.name == NAME
        else item
        for item in whole.queues
    )
    assert fold_delays(replace(whole, queues=queues))[1] == {"orders": (3_600_000,)}


@pytest.mark.parametrize(
    "changed", [{"durable": False}, {"auto_delete": True}, {"internal": True}, {"name": "gone"}]
)
def test_an_exchange_that_a_file_may_not_give_delays_has_none(changed: dict[str, object]) -> None:
    whole = live()
    orders = replace(whole.exchanges[0], **changed)  # type: ignore[arg-type]
    snapshot = replace(whole, exchanges=(orders, *whole.exchanges[1:]))
    assert fold_delays(snapshot) == (snapshot, {})
