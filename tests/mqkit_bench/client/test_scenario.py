"""mqkit_bench.client.scenario: the load, and what one round of it is."""

from __future__ import annotations

from mqkit_bench.client.flight import Flight
from mqkit_bench.client.scenario import Load, Scenario


def test_a_body_is_a_flight_of_the_size_that_is_asked_for() -> None:
    body = Load("q", 1, 1024).body
    assert len(body) == 1024
    assert Flight.model_validate_json(body).origin == "DTW"
    assert Flight.model_validate_json(Load("q", 1, 0).body).note == ""


def test_one_in_flight_gets_a_quarter_and_at_least_one() -> None:
    load = Load("q", 1000, 10)
    assert load.of(Scenario.PUBLISH_1) == Load("q", 250, 10)
    assert Load("q", 3, 10).of(Scenario.PUBLISH_1).messages == 1
    assert {load.of(each) for each in Scenario if each is not Scenario.PUBLISH_1} == {load}
