"""mqkit_bench.client.table: medians, ratios of the same round with their spread, and no figures."""

from __future__ import annotations

from mqkit_bench.client.meter import Measured
from mqkit_bench.client.rounds import ClientStanding
from mqkit_bench.client.scenario import Scenario
from mqkit_bench.client.table import HEADER, table


def standing(name: str, *cpu_us: float) -> ClientStanding:
    """Rounds of 1,000 messages that took this much CPU each, and twice that time."""
    rounds = [Measured(1000, 2 * us / 1000, us / 1000, 30.0 + us) for us in cpu_us]
    return ClientStanding(Scenario.CONSUME_ACK, name, "1.0", "", rounds)


def test_ratios_are_of_the_same_round() -> None:
    text = table([standing("mqkit, native", 10, 20, 30), standing("aio-pika", 100, 100, 200)])
    head, _, ours, theirs = text.splitlines()
    assert head.count("|") == ours.count("|") == theirs.count("|") == len(HEADER) + 1
    assert ours == (
        "| consume-ack | mqkit, native | 20.0 us | 0.15x (0.10-0.20)"
        " | 25,000 (16,667-50,000) | 6.67x (5.00-10.00) | 50 % | 60 MiB |  |"
    )
    assert theirs == (
        "| consume-ack | aio-pika | 100.0 us | - | 5,000 (2,500-5,000) | - | 50 % | 230 MiB |  |"
    )


def test_without_figures_there_is_the_reason() -> None:
    absent = ClientStanding(Scenario.CONSUME_ACK, "kombu", None, "not installed")
    assert table([absent]).splitlines()[2] == (
        "| consume-ack | kombu | - | - | - | - | - | - | not installed |"
    )


def test_without_aio_pika_there_are_no_ratios() -> None:
    absent = ClientStanding(Scenario.CONSUME_ACK, "aio-pika", None, "not installed")
    for standings in ([standing("pika", 10)], [standing("pika", 10), absent]):
        assert (
            "| 10.0 us | - | 50,000 (50,000-50,000) | - | 50 % |"
            in table(standings).splitlines()[2]
        )
