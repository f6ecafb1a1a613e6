"""Questions that a topology's model answers by itself."""

from __future__ import annotations

import pytest

from mqkit.retry.policy import RetryPolicy
from mqkit.retry.then import Then
from mqkit.topology.model import ExchangeModel, QueueModel, Topology


@pytest.mark.parametrize("model", [ExchangeModel, QueueModel])
def test_a_fault_stands_at_the_first_key_that_the_file_has(
    model: type[ExchangeModel | QueueModel],
) -> None:
    found = model("name", line=3, key_lines={"type": 5, "durable": 4})
    assert found.line_of("arguments", "durable", "type") == 4
    assert found.line_of("arguments") == 3


def test_lines_make_no_difference_between_two_models() -> None:
    assert QueueModel("q", line=3, key_lines={"type": 5}) == QueueModel("q")


@pytest.mark.parametrize(
    ("retry", "parks"),
    [
        (None, False),
        (RetryPolicy((1000,), Then.DROP), False),
        (RetryPolicy((1000,), Then.PARK), True),
        (RetryPolicy.of("1s", then=Then.DROP, errors={"KeyError": "park"}), True),
    ],
)
def test_only_a_policy_that_parks_needs_a_parking_lot(
    retry: RetryPolicy | None, parks: bool
) -> None:
    assert QueueModel("q", retry=retry).has_parking_lot is parks


def test_a_length_limit_is_one_of_the_models_keys_and_may_be_zero() -> None:
    assert QueueModel("q", max_length=0).is_limited
    assert QueueModel("q", max_length_bytes=1).is_limited
    assert not QueueModel("q", arguments={"x-max-length": 1}).is_limited


def test_an_exchange_is_found_by_its_name() -> None:
    wanted = ExchangeModel("b")
    topology = Topology(exchanges=(ExchangeModel("a"), wanted), queues=(QueueModel("c"),))
    assert topology.exchange("b") is wanted
    assert topology.exchange("c") is None


def test_a_queue_is_found_by_its_name() -> None:
    wanted = QueueModel("b")
    topology = Topology(queues=(QueueModel("a"), wanted))
    assert topology.queue("b") is wanted
    assert topology.queue("c") is None


def test_a_queue_knows_the_names_of_its_lot_and_its_tiers() -> None:
    policy = RetryPolicy.of("1s", "5s", park="lot", tiers="w.{after}")
    named = QueueModel("q", retry=policy)
    assert (named.parking_lot, dict(named.tiers)) == ("lot", {"w.1s": 1_000, "w.5s": 5_000})
    plain = QueueModel("q", retry=RetryPolicy((1_000,), Then.DROP))
    assert (plain.parking_lot, dict(plain.tiers)) == (None, {"q.retry.1s": 1_000})
    assert (QueueModel("q").parking_lot, dict(QueueModel("q").tiers)) == (None, {})


def test_a_topology_of_dictionaries_has_their_sections() -> None:
    topology = Topology.of(
        vhost="/shop",
        exchanges={"e": {"type": "fanout"}},
        queues={"q": {"expires": "1m"}, "p": None},
    )
    assert topology == Topology(
        (ExchangeModel("e", type="fanout"),),
        (QueueModel("q", expires_ms=60_000), QueueModel("p")),
        "/shop",
    )
    assert Topology.of() == Topology()
