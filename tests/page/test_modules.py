"""The page's pure modules: numbers in words, rates, scales, and what a topology means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.slow

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        ("count", 12_345, "12,345"),
        ("count", None, "–"),
        ("rate", 0.04, "0/s"),
        ("rate", 99.94, "99.9/s"),
        ("rate", 1234.6, "1,235/s"),
        ("bytes", 0, "0 B"),
        ("bytes", 1536, "1.5 KiB"),
        ("bytes", 3 << 40, "3 TiB"),
        ("duration", 0, "0 s"),
        ("duration", 125_000, "2 min 5 s"),
        ("duration", 3_600_000, "1 h"),
        ("duration", 273_600_000, "3 d 4 h"),
        ("moment", 1_795_190_520_000, "2026-11-20 16:02 UTC"),
        ("value", "text", "text"),
        ("value", [1, "a"], '[1,"a"]'),
        ("list", [], ""),
        ("list", ["a"], "a"),
        ("list", ["a", "b", "c"], "a, b and c"),
    ],
)
def test_format(module: Call, function: str, value: Any, text: str) -> None:
    assert module("format", function, value) == text


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 4), (3, 4), (4.1, 8), (9, 10), (11, 20), (399, 400), (80_001, 100_000)]
)
def test_the_scale_of_a_chart(module: Call, largest: float, top: float) -> None:
    assert module("chart", "ceiling", largest) == top


def rates(page: Page, *answers: Any) -> Any:
    """The rates that one Rates gives for answers, each `[milliseconds, message_stats]`."""
    return page.evaluate(
        """async (answers) => {
            const { Rates } = await import("/page/history.js");
            const rates = new Rates();
            return answers.map(([at, stats]) => rates.of(at, stats, ["publish"]).publish ?? null);
        }""",
        list(answers),
    )


def test_rates_come_from_counters(bare_page: Page) -> None:
    counters = [[0, {"publish": 10}], [2000, {"publish": 30}], [3000, {"publish": 30}]]
    assert rates(bare_page, *counters) == [None, 10, 0]


def test_a_counter_that_falls_or_is_missing_has_no_rate(bare_page: Page) -> None:
    fallen = [[0, {"publish": 10}], [1000, {"publish": 3}], [2000, {}], [3000, None]]
    assert rates(bare_page, *fallen) == [None, None, None, None]


def test_the_brokers_own_rate_counts(bare_page: Page) -> None:
    sampled = {"publish": 10, "publish_details": {"rate": 7.5}}
    assert rates(bare_page, [0, sampled], [0, sampled]) == [7.5, 7.5]


def test_history_forgets_what_is_older_than_a_minute(bare_page: Page) -> None:
    points = bare_page.evaluate(
        """async () => {
            const { History } = await import("/page/history.js");
            const history = new History();
            for (const at of [0, 30000, 61000]) history.add(at, { ready: at / 1000 });
            history.add(62000, {});
            return history.points("ready").map(({ value }) => value);
        }"""
    )
    assert points == [30, 61]


def queue(name: str, vhost: str = "/", **arguments: str) -> dict[str, Any]:
    table = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    return {"name": name, "vhost": vhost, "arguments": table}


def bound(source: str, destination: str, kind: str = "queue", vhost: str = "/") -> dict[str, Any]:
    return {
        "source": source, "destination": destination, "destination_type": kind, "vhost": vhost,
    }  # fmt: skip


def test_where_dead_letters_come_to(module: Call) -> None:
    by_policy = {**queue("c"), "effective_policy_definition": {"dead-letter-exchange": "dlx"}}
    queues = [
        queue("a", dead_letter_exchange="", dead_letter_routing_key="grave"),
        queue("b", dead_letter_exchange="dlx"),
        by_policy,
        queue("grave"),
        queue("deep"),
        queue("plain"),
        queue("deep", vhost="other"),
    ]
    bindings = [
        bound("dlx", "between", "exchange"),
        bound("between", "dlx", "exchange"),
        bound("between", "deep"),
        bound("shop", "plain"),
    ]
    found = module("dead_letter_queues", "deadLetterQueues", queues, bindings)
    assert [(each["queue"]["name"], each["queue"]["vhost"], each["from"]) for each in found] == [
        ("grave", "/", ["a"]),
        ("deep", "/", ["b", "c"]),
    ]


def test_features_in_words(module: Call) -> None:
    limited = {
        **queue("q", max_length="7", overflow="reject-publish", dead_letter_exchange=""),
        "durable": True,
        "policy": "short",
        "effective_policy_definition": {"message-ttl": 60_000, "max-length": 9},
    }
    limited["arguments"]["x-max-length"] = 7
    assert module("queue_features", "queueFeatures", limited) == [
        "durable", "messages live 1 min", "at most 7 ready", "refuses when full",
        "dead letters to the default exchange", "policy short",
    ]  # fmt: skip
    assert module("queue_features", "queueFeatures", queue("q")) == ["gone after a restart"]


def test_headers_from_lines(module: Call) -> None:
    assert module("publish", "headersOf", "a: 1\n\n b : c:d ") == {"a": "1", "b": "c:d"}
    with pytest.raises(Exception, match="“nonsense” is not a header"):
        module("publish", "headersOf", "nonsense")


def test_a_path_has_every_name_encoded(module: Call) -> None:
    assert module("api", "path", "queues", "/", "a b/ü?#") == "/api/queues/%2F/a%20b%2F%C3%BC%3F%23"


def test_a_client_in_words(module: Call) -> None:
    words = module("connections", "clientWords", {"product": "pika", "version": "1.4"})
    assert words == "pika 1.4"
    assert module("connections", "clientWords", {"platform": "Python 3"}) == (
        "unnamed client on Python 3"
    )
