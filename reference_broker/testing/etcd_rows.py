"""The rows of a cluster in an etcd, read and compacted beside its nodes, by whoever tests them."""

from __future__ import annotations

import base64
import json
import urllib.request
from typing import Any

from reference_broker.cluster.metadata.keys import DEFINITIONS, cluster_prefix

ANSWER_TIMEOUT_S = 10.0


class EtcdRows:
    """Asks the member ``endpoint`` for what the cluster of that name has there."""

    def __init__(self, endpoint: str, cluster: str) -> None:
        self._endpoint = endpoint
        self._prefix = cluster_prefix(cluster)

    def keys(self) -> set[str]:
        """All keys, without the cluster's prefix."""
        first = self._prefix.encode()
        last = first[:-1] + bytes([first[-1] + 1])
        found = self._ask("kv/range", key=_field(first), range_end=_field(last), keys_only=True)
        keys = (base64.b64decode(row["key"]).decode() for row in found.get("kvs", ()))
        return {key.removeprefix(self._prefix) for key in keys}

    def definitions(self) -> set[str]:
        """Those of definitions."""
        return {key for key in self.keys() if key.startswith(DEFINITIONS)}

    def put(self, key: str, value: bytes) -> int:
        """Write a row, and return the revision of that; a node takes no notice of a head that it
        does not know, but keeps the event."""
        found = self._ask("kv/put", key=_field((self._prefix + key).encode()), value=_field(value))
        return int(found["header"]["revision"])

    def compact(self) -> int:
        """Forget all revisions before the one of now, and return that."""
        revision = int(self._ask("kv/range", key=_field(b"\0"))["header"]["revision"])
        self._ask("kv/compaction", revision=str(revision), physical=True)
        return revision

    def _ask(self, path: str, **body: object) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{self._endpoint}/v3/{path}", json.dumps(body).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:
            decoded: dict[str, Any] = json.load(answer)
        return decoded


def _field(octets: bytes) -> str:
    return base64.b64encode(octets).decode()
