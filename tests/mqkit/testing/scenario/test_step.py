"""mqkit.testing.scenario.step: a step in words."""

from __future__ import annotations

from mqkit.testing.scenario.step import Step


def test_it_is_told_with_its_arguments_and_its_moment() -> None:
    step = Step(10_000, "cancel_consumers", {"queue": "orders"}, found=1)
    assert str(step) == "cancel_consumers queue='orders' at 10s"
    assert str(Step(1500, "block")) == "block at 1500ms"
