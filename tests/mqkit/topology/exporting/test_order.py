"""Two brokers with the same objects are the same text."""

from __future__ import annotations

from dataclasses import replace

from mqkit.declaration import Binding, Exchange, Queue
from mqkit.topology import Snapshot, export
from mqkit.topology.exporting.order import in_order
from mqkit.topology.policy.policy_model import ApplyTo, PolicyModel


def test_the_order_of_a_broker_s_answers_does_not_show() -> None:
    one = replace(
        Snapshot.of(
            "/",
            (
                *(Exchange("b", "headers"), Exchange("a")),
                *(Queue("z", arguments={"x-b": {"n": 1, "m": [{"z": 1, "y": 2}]}, "x-a": 1}),),
                *(Queue("y"), Binding("b", "z", arguments={"x": 1, "a": 2}), Binding("a", "z")),
            ),
        ),
        policies=(
            PolicyModel("q", "", ApplyTo.ALL, 0, {"expires": 1, "max-length": 2}),
            PolicyModel("p", "nothing", ApplyTo.ALL, 1, {"expires": 1}),
        ),
    )
    other = Snapshot(
        "/",
        one.exchanges[::-1],
        (
            one.queues[1],
            replace(
                one.queues[0],
                queue=Queue("z", arguments={"x-a": 1, "x-b": {"m": [{"y": 2, "z": 1}], "n": 1}}),
            ),
        ),
        (one.bindings[1], replace(one.bindings[0], arguments={"a": 2, "x": 1})),
        (
            one.policies[1],
            replace(one.policies[0], definition={"max-length": 2, "expires": 1}),
        ),
    )
    assert export(one) == export(other)
    assert in_order(one) == in_order(other)
    assert export(one).index("p:") < export(one).index("  q:")
