"""A private etcd, and a client of its HTTP gateway that is as plain as can be."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from mqkit.testing import EtcdUnavailable, etcd
from reference_broker.cluster.coordinator import (
    Changed,
    Event,
    Lost,
    Page,
    Put,
    Refused,
    Row,
    Transaction,
    Unread,
    Won,
)

ANSWER_TIMEOUT_S = 30
NO_SPACE = "etcdserver: mvcc: database space exceeded"
COMPACTED = "etcdserver: mvcc: required revision has been compacted"


def end_of(prefix: str) -> str:
    """The first key, in base64, behind all those that begin with ``prefix``."""
    octets = prefix.encode()
    return coded(octets[:-1] + bytes([octets[-1] + 1]) if octets else b"\0")


def coded(text: str | bytes) -> str:
    return base64.b64encode(text.encode() if isinstance(text, str) else text).decode()


def decoded(row: dict[str, str], name: str) -> bytes:
    return base64.b64decode(row.get(name, ""))


class RealWatch:
    """A watch of a real etcd, on a connection of its own."""

    def __init__(self, port: int, prefix: str, start_revision: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_TIMEOUT_S)
        create = {
            "key": coded(prefix or "\0"),
            "range_end": end_of(prefix),
            "start_revision": str(start_revision),
        }
        self._connection.request("POST", "/v3/watch", json.dumps({"create_request": create}))
        self._answer = self._connection.getresponse()
        assert self._next()["created"]

    def read(self, through: int) -> list[Changed] | None:
        """Everything that it tells up to the revision ``through``, which must change something
        under its prefix; nothing where it is ended, because that is compacted."""
        events: list[Event] = []
        while not events or events[-1].revision < through:
            told = self._next()
            if told.get("canceled"):
                assert int(told["compact_revision"]) > 0
                return None
            events += map(_event, told["events"])
        revisions = dict.fromkeys(event.revision for event in events)
        return [
            Changed(revision, tuple(event for event in events if event.revision == revision))
            for revision in revisions
        ]

    def close(self) -> None:
        self._connection.close()

    def _next(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self._answer.readline())["result"]
        return told


def _event(told: dict[str, Any]) -> Event:
    kv = told["kv"]
    value = None if told.get("type") == "DELETE" else decoded(kv, "value")
    key = decoded(kv, "key").decode()
    lease, created = int(kv.get("lease", 0)), int(kv.get("create_revision", 0))
    return Event(key, value, int(kv["mod_revision"]), lease, created)


class RealStore:
    """A real etcd with the methods of ``EtcdStore``."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_TIMEOUT_S)
        self._member = self._call("/v3/maintenance/status", {})["header"]["member_id"]

    def transact(self, transaction: Transaction) -> Won | Lost | Refused:
        answer = self._call(
            "/v3/kv/txn",
            {
                "compare": [
                    {
                        "key": coded(key),
                        "target": "MOD",
                        "result": "EQUAL",
                        "mod_revision": str(revision),
                    }
                    for key, revision in transaction.compares
                ],
                "success": [
                    {
                        "request_put": {
                            "key": coded(change.key),
                            "value": coded(change.value),
                            "lease": str(change.lease),
                        }
                    }
                    if isinstance(change, Put)
                    else {"request_delete_range": {"key": coded(change.key)}}
                    for change in transaction.changes
                ],
            },
        )
        if "error" in answer:
            return Refused(answer["error"], lasting=answer["error"] != NO_SPACE)
        revision = int(answer["header"]["revision"])
        return Won(revision) if answer.get("succeeded") else Lost(revision)

    def read(
        self, prefix: str, *, after: str = "", revision: int = 0, limit: int = 1_000
    ) -> Page | Unread:
        answer = self._call(
            "/v3/kv/range",
            {
                "key": coded(max(prefix, after + "\0")),
                "range_end": end_of(prefix),
                "revision": str(revision),
                "limit": str(limit),
            },
        )
        if "error" in answer:
            return Unread(answer["error"], compacted=answer["error"] == COMPACTED)
        rows = tuple(
            Row(
                decoded(row, "key").decode(),
                decoded(row, "value"),
                int(row["mod_revision"]),
                int(row.get("lease", 0)),
                int(row["create_revision"]),
            )
            for row in answer.get("kvs", ())
        )
        now = int(answer["header"]["revision"])
        return Page(rows, revision or now, more=answer.get("more", False))

    def compact(self, revision: int) -> str:
        """Answered once the revisions are gone: by itself etcd answers before, and tells a watch
        for some moments what is compacted."""
        told = self._call("/v3/kv/compaction", {"revision": str(revision), "physical": True})
        return str(told.get("error", ""))

    def grant(self, lease: int, ttl_s: int) -> int | Refused:
        answer = self._call("/v3/lease/grant", {"ID": str(lease), "TTL": str(ttl_s)})
        return Refused(answer["error"]) if "error" in answer else int(answer["TTL"])

    def ttl_s(self, lease: int) -> int:
        """As a renewal says it."""
        answer = self._call("/v3/lease/keepalive", {"ID": str(lease)})
        return int(answer["result"].get("TTL", 0))

    def revoke(self, lease: int) -> bool:
        return "error" not in self._call("/v3/lease/revoke", {"ID": str(lease)})

    def fill(self, *, full: bool) -> None:
        """Have it out of space, or have room again."""
        action = "ACTIVATE" if full else "DEACTIVATE"
        alarm = {"action": action, "memberID": self._member, "alarm": "NOSPACE"}
        assert "error" not in self._call("/v3/maintenance/alarm", alarm)

    def watch(self, prefix: str, start_revision: int) -> RealWatch:
        return RealWatch(self._port, prefix, start_revision)

    def close(self) -> None:
        self._connection.close()

    def _call(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self._connection.request("POST", path, json.dumps(body))
        answer: dict[str, Any] = json.loads(self._connection.getresponse().read())
        return answer


@pytest.fixture
def real_store() -> Iterator[RealStore]:
    """A private etcd on this machine that has nothing in it."""
    try:
        with etcd() as alone:
            store = RealStore(int(alone.endpoints[0].rpartition(":")[2]))
            yield store
            store.close()
    except EtcdUnavailable as why:
        pytest.skip(str(why))
