"""row_sums: what several nodes have counted, member by member."""

from __future__ import annotations

from reference_broker.http.rows.row_sums import added


def test_numbers_and_rates_are_added() -> None:
    first = {"publish": 2, "publish_details": {"rate": 0.5}, "ack": 1}
    second = {"publish": 3, "publish_details": {"rate": 1.0}, "get": 4}
    assert added(first, second) == {
        "publish": 5,
        "publish_details": {"rate": 1.5},
        "ack": 1,
        "get": 4,
    }
    assert first["publish"] == 2


def test_histories_are_added_by_their_time() -> None:
    first = {"samples": [{"sample": 7, "timestamp": 20}, {"sample": 5, "timestamp": 10}]}
    second = {"samples": [{"sample": 1, "timestamp": 15}, {"sample": 2, "timestamp": 10}]}
    assert added(first, second) == {
        "samples": [
            {"sample": 7, "timestamp": 20},
            {"sample": 1, "timestamp": 15},
            {"sample": 7, "timestamp": 10},
        ]
    }
