"""mqkit_spark.options.table: two names for each option, and what becomes of unknown ones."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from mqkit.errors import ConfigurationError
from mqkit_spark.options.table import OptionTable, option_name
from mqkit_spark.options.values import seconds, text, whole_number


@dataclass(frozen=True)
class Some:
    queue: str = ""
    max_in_flight: int = 1
    idle_timeout_s: float = 2.0


TABLE = OptionTable(
    Some,
    {"queue": text, "max_in_flight": whole_number, "idle_timeout_s": seconds},
    ignored=("checkpointlocation",),
    elsewhere={"mode": "option mode belongs to spark.readStream"},
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("queue", "queue"),
        ("max_in_flight", "maxInFlight"),
        ("idle_timeout_s", "idleTimeout"),
    ],
)
def test_the_name_that_spark_users_write(name: str, shown: str) -> None:
    assert option_name(name) == shown


def test_spark_s_text_is_read_in_any_letter_case() -> None:
    for names in (("queue", "maxInFlight", "idleTimeout"), ("QUEUE", "maxinflight", "IDLETIMEOUT")):
        given = dict(zip(names, ("q", "7", "0.5"), strict=True))
        assert TABLE.from_spark(given) == Some("q", 7, 0.5)
    assert TABLE.from_spark({"checkpointLocation": "/x"}) == Some()
    assert TABLE.from_spark({"provider": "amqp", "option.queue": "q"}) == Some("q")
    assert TABLE.from_keywords({"max_in_flight": 7}) == Some(max_in_flight=7)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"maxInFlght": "7"}, "unknown option 'maxInFlght'; did you mean maxInFlight?"),
        ({"zzz": "7"}, "the options are idleTimeout, maxInFlight, queue"),
        ({"Mode": "spool"}, "option mode belongs to spark.readStream"),
        ({"maxInFlight": "many"}, "option maxInFlight: expected a whole number, not 'many'"),
    ],
)
def test_spark_s_options_that_cannot_be(options: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        TABLE.from_spark(options)
    assert words in str(error.value)


def test_a_keyword_that_is_not_known_is_refused_with_its_neighbour() -> None:
    with pytest.raises(ConfigurationError, match="'max_inflight'; known: max_in_flight"):
        TABLE.from_keywords({"max_inflight": 7})
    with pytest.raises(ConfigurationError, match="known: idle_timeout_s, max_in_flight, queue"):
        TABLE.from_keywords({"zzz": 7})


def test_a_table_knows_its_own_names_only() -> None:
    assert TABLE.knows("MaxInFlight")
    assert not TABLE.knows("max_in_flight")
    assert not TABLE.knows("mode")


def test_a_field_without_a_reader_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="idle_timeout_s"):
        OptionTable(Some, {"queue": text, "max_in_flight": whole_number})
