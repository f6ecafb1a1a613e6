"""Messages of a watch, as news: by transaction, in order, and never further than what was told."""

from __future__ import annotations

from typing import Any

import pytest

from reference_broker.cluster.coordinator import Changed, Event, Progressed, WatchEnded
from reference_broker.runtime.etcd import watch_messages
from reference_broker.runtime.etcd.fields import BadAnswer, key_field, octets_field
from reference_broker.runtime.etcd.watch_messages import WatchMessages, watch_request

DENIED = "etcdserver: permission denied"


def put(key: str, revision: int, value: bytes = b"v") -> dict[str, Any]:
    kv = {"key": key_field(key), "mod_revision": str(revision), "value": octets_field(value)}
    return {"kv": kv}


def delete(key: str, revision: int) -> dict[str, Any]:
    return {"type": "DELETE", "kv": {"key": key_field(key), "mod_revision": str(revision)}}


def message(*events: dict[str, Any], store: int = 99, **more: Any) -> dict[str, Any]:
    return {"result": {"header": {"revision": str(store)}, "events": list(events), **more}}


def written(key: str, revision: int) -> Event:
    return Event(key, b"v", revision)


def test_a_watch_begins_at_the_revision_that_is_there_and_asks_for_progress_and_fragments() -> None:
    assert watch_request("/m/", 6)["create_request"] == {
        "key": "L20v",
        "range_end": "L20w",
        "start_revision": "6",
        "progress_notify": True,
        "fragment": True,
    }


def test_events_are_told_by_transaction() -> None:
    watch = WatchMessages(3)
    leased = put("b", 5)
    leased["kv"] |= {"lease": "77", "create_revision": "5"}
    assert watch.news(message(put("a", 4), delete("b", 4), leased)) == [
        Changed(4, (written("a", 4), Event("b", None, 4))),
        Changed(5, (Event("b", b"v", 5, 77, 5),)),
    ]
    assert watch.told == 5


def test_the_stores_revision_beside_events_is_not_the_watchs() -> None:
    watch = WatchMessages(3)
    watch.news(message(put("a", 4), store=1_000))
    assert watch.told == 4


def test_a_message_without_events_says_how_far_the_watch_is() -> None:
    watch = WatchMessages(3)
    assert watch.news(message(store=3)) == []
    assert watch.news(message(store=9)) == [Progressed(9)]
    assert watch.news(message(store=9)) == []
    assert watch.told == 9


def test_a_created_watch_says_nothing_about_progress() -> None:
    watch = WatchMessages(3)
    assert not watch.is_open
    assert watch.news(message(store=9, created=True)) == []
    assert (watch.is_open, watch.told) == (True, 3)


def test_a_transaction_that_comes_in_fragments_is_told_whole() -> None:
    watch = WatchMessages(0)
    assert watch.news(message(put("a", 4), put("a", 5), fragment=True)) == [
        Changed(4, (written("a", 4),))
    ]
    assert watch.told == 4
    assert watch.news(message(put("b", 5), fragment=True)) == []
    assert watch.news(message(put("c", 5), put("a", 6))) == [
        Changed(5, (written("a", 5), written("b", 5), written("c", 5))),
        Changed(6, (written("a", 6),)),
    ]
    assert watch.told == 6


def test_a_last_fragment_may_be_empty() -> None:
    watch = WatchMessages(0)
    watch.news(message(put("a", 5), fragment=True))
    assert watch.news(message(store=50)) == [Changed(5, (written("a", 5),))]
    assert watch.told == 5


def test_what_was_told_is_not_told_again() -> None:
    watch = WatchMessages(4)
    assert watch.news(message(put("a", 4), put("a", 5))) == [Changed(5, (written("a", 5),))]


def test_revisions_that_fall_are_refused() -> None:
    with pytest.raises(BadAnswer, match="its revisions fall"):
        WatchMessages(0).news(message(put("a", 8), put("a", 5)))


@pytest.mark.parametrize("bound", ["HELD_EVENTS_MAX", "HELD_OCTETS_MAX"])
def test_a_transaction_that_is_too_large_has_the_rows_read_anew(
    monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(watch_messages, bound, 2)
    watch = WatchMessages(0)
    watch.news(message(put("a", 4), put("b", 5), put("c", 5), fragment=True))
    [ended] = watch.news(message(put("d", 5), fragment=True))
    assert ended == WatchEnded("a transaction has too many changes", compacted=True)
    assert watch.told == 4


def test_a_compacted_watch_says_so() -> None:
    result = {"header": {}, "canceled": True, "compact_revision": "8"}
    [ended] = WatchMessages(0).news({"result": result})
    assert isinstance(ended, WatchEnded)
    assert ended.compacted
    assert "8" in ended.reason


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (
            {"cancel_reason": f"rpc error: code = PermissionDenied desc = {DENIED}"},
            DENIED,
        ),
        ({"cancel_reason": "a\nreason"}, "a reason"),
        ({}, "it ended the watch"),
    ],
)
def test_a_cancelled_watch_has_ended(result: dict[str, str], reason: str) -> None:
    cancelled = {"result": {"created": True, "canceled": True, **result}}
    assert WatchMessages(0).news(cancelled) == [WatchEnded(reason)]


def test_an_error_ends_a_watch() -> None:
    error = {"error": {"grpc_code": 14, "message": "etcdserver: no leader"}}
    assert WatchMessages(0).news(error) == [WatchEnded("etcdserver: no leader")]


@pytest.mark.parametrize(
    "bad", [{"result": 5}, {"result": {"events": [5]}}, message({"kv": {"key": "?"}}), {}]
)
def test_a_message_that_is_none_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        WatchMessages(0).news(bad)
