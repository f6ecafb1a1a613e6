"""Watch streams of etcd: JSON lines in chunks, and the news in them."""

from __future__ import annotations

import json
from typing import Any

from fuzz.target import Target
from reference_broker.cluster.coordinator import Changed, News, Progressed, WatchEnded
from reference_broker.runtime.etcd.fields import BadAnswer
from reference_broker.runtime.etcd.json_lines import JsonLines
from reference_broker.runtime.etcd.watch_messages import WatchMessages

AFTER = 3
CHUNK = 7


def check(data: bytes) -> None:
    """Only :exc:`BadAnswer` is raised, news are of ever later revisions, and chunks make no
    difference."""
    whole = _news(data, len(data) or 1)
    assert whole == _news(data, CHUNK)
    told = AFTER
    for news in whole:
        assert not isinstance(news, WatchEnded) or news is whole[-1]
        if isinstance(news, Changed | Progressed):
            assert news.revision > told
            told = news.revision
        if isinstance(news, Changed):
            assert {event.revision for event in news.events} == {told}


def _news(data: bytes, chunk: int) -> list[News]:
    lines, messages = JsonLines(), WatchMessages(AFTER)
    found: list[News] = []
    try:
        for begin in range(0, len(data), chunk):
            for message in lines.feed(data[begin : begin + chunk]):
                found += messages.news(message)
                if found and isinstance(found[-1], WatchEnded):
                    return found
    except BadAnswer:
        pass
    return found


def seeds() -> list[bytes]:
    header = {"header": {"revision": "9"}}
    put = {"kv": {"key": "YQ==", "mod_revision": "4", "value": "eA==", "lease": "7"}}
    gone = {"type": "DELETE", "kv": {"key": "YQ==", "mod_revision": "5"}}
    streams: list[list[dict[str, Any]]] = [
        [{**header, "created": True}, {**header, "events": [put, gone]}, header],
        [{**header, "events": [put], "fragment": True}, {**header, "events": [put, gone]}],
        [{**header, "canceled": True, "compact_revision": "8"}],
        [{**header, "canceled": True, "cancel_reason": "rpc error: code = X desc = y"}],
    ]
    errors: list[dict[str, Any]] = [
        {"error": {"grpc_code": 14, "message": "etcdserver: no leader"}}
    ]
    results = [[{"result": each} for each in stream] for stream in streams]
    return [
        b"".join(json.dumps(each).encode() + b"\n" for each in stream)
        for stream in (*results, errors)
    ]


TARGET = Target("watch-streams", check, seeds)
