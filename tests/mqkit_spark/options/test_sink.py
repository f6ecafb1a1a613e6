"""mqkit_spark.options.sink: typed, checked, and silent about the password."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit_spark.options import (
    SINK_OPTIONS,
    MessageIds,
    OnBadRow,
    OnUnroutable,
    SinkOptions,
)

URL = "amqp://me:hunter2@broker:5672/v"


def test_names_come_in_lower_case_and_values_as_text() -> None:
    options = SINK_OPTIONS.from_spark(
        {
            "url": URL,
            "exchange": "flights",
            "routingkey": "k",
            "contenttype": "application/json",
            "persistent": "False",
            "messageids": "column",
            "jobid": "nightly",
            "onunroutable": "drop",
            "onbadrow": " DeadLetter ",
            "deadletterexchange": "dlx",
            "deadletterroutingkey": "lost",
            "dedup": "true",
            "deterministic": "true",
            "maxrate": "2.5",
            "topology": "topology.yaml",
            "reportpath": "reports.jsonl",
            "maxmessagebytes": "10",
            "maxinflight": "20",
            "maxinflightbytes": "30",
            "publishretries": "0",
            "connecttimeout": "1.5",
            "confirmtimeout": "2",
            "blockedtimeout": "3",
            "transport": "Native",
        }
    )
    assert options == SinkOptions(
        url=URL,
        exchange="flights",
        routing_key="k",
        content_type="application/json",
        persistent=False,
        message_ids=MessageIds.COLUMN,
        job_id="nightly",
        on_unroutable=OnUnroutable.DROP,
        on_bad_row=OnBadRow.DEADLETTER,
        dead_letter_exchange="dlx",
        dead_letter_routing_key="lost",
        dedup=True,
        deterministic=True,
        max_rate=2.5,
        topology="topology.yaml",
        report_path="reports.jsonl",
        max_message_bytes=10,
        max_in_flight=20,
        max_in_flight_bytes=30,
        publish_retries=0,
        connect_timeout_s=1.5,
        confirm_timeout_s=2,
        blocked_timeout_s=3,
        transport=BlockingChoice.NATIVE,
    )
    assert SINK_OPTIONS.from_spark({"URL": URL, "maxInFlight": "7"}).max_in_flight == 7


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "option url is missing"),
        ({"url": "http://x"}, "starts with amqp"),
        ({"url": URL, "exchagne": "x"}, "unknown option 'exchagne'; did you mean exchange?"),
        (
            {"url": URL, "zzzzzzzz": "x"},
            "unknown option 'zzzzzzzz'; the options are blockedTimeout",
        ),
        ({"url": URL, "maxinflight": "many"}, "option maxInFlight: expected a whole number"),
        ({"url": URL, "maxinflight": "0"}, "maxInFlight must be at least 1"),
        ({"url": URL, "maxinflightbytes": "0"}, "maxInFlightBytes must be at least 1"),
        ({"url": URL, "maxmessagebytes": "-1"}, "maxMessageBytes must be at least 1"),
        ({"url": URL, "publishretries": "-1"}, "publishRetries must be at least 0"),
        ({"url": URL, "confirmtimeout": "0"}, "confirmTimeout must be more than 0"),
        ({"url": URL, "confirmtimeout": "soon"}, "option confirmTimeout: expected a number"),
        ({"url": URL, "persistent": "yes"}, "option persistent: expected true or false"),
        ({"url": URL, "onunroutable": "pray"}, "onUnroutable: expected one of fail, drop"),
        ({"url": URL, "exchange": "ä" * 128}, "exchange has more than 255 bytes"),
        ({"url": URL, "jobid": "j" * 201}, "jobId has more than 200 bytes"),
        ({"url": URL, "maxrate": "0"}, "maxRate must be more than 0"),
        ({"url": URL, "maxrate": "inf"}, "maxRate must be more than 0"),
        ({"url": URL, "onbadrow": "deadletter"}, "deadletter needs option deadLetterExchange"),
        (
            {"url": URL, "onunroutable": "deadletter", "deadletterexchange": ""},
            "give option deadLetterRoutingKey too",
        ),
        ({"url": URL, "deadletterexchange": "dlx"}, "neither is given"),
        ({"url": URL, "onbadrow": "drop", "deadletterroutingkey": "k"}, "neither is given"),
    ],
)
def test_what_cannot_be_is_refused_in_words(given: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        SINK_OPTIONS.from_spark(given)
    assert words in str(error.value)
    assert "hunter2" not in str(error.value)


def test_keywords_are_checked_alike() -> None:
    options = SINK_OPTIONS.from_keywords({"url": URL, "on_unroutable": "drop", "exchange": "x"})
    assert options.on_unroutable is OnUnroutable.DROP
    with pytest.raises(ConfigurationError, match="unknown option 'on_unroutabel'; known: on_unr"):
        SINK_OPTIONS.from_keywords({"url": URL, "on_unroutabel": "drop"})
    with pytest.raises(ConfigurationError, match="onBadRow: expected one of fail, drop"):
        SINK_OPTIONS.from_keywords({"url": URL, "on_bad_row": "ignore"})


def test_the_password_never_shows_and_the_options_can_be_pickled() -> None:
    options = SinkOptions(url=URL)
    assert "hunter2" not in repr(options)
    assert "hunter2" not in repr(options.endpoints())
    assert pickle.loads(pickle.dumps(options)) == options
    assert replace(options, exchange="x").url == URL
