"""The sums of virtual hosts over the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from starlette.requests import Request

from reference_broker.http.request.answer import Row
from reference_broker.http.request.peer_rows import Order, PeerRow, rows_of_others
from reference_broker.http.request.peers import Peers
from reference_broker.http.rows.measures import DATA, LENGTHS
from reference_broker.http.rows.row_sums import added

_COUNTED = (
    *LENGTHS, *DATA, *(f"{name}_details" for name in (*LENGTHS, *DATA)), "message_stats",
)  # fmt: skip
"""The columns that each node counts for itself."""

_ORDER = Order(("name", "cluster_state"), lambda row: row["name"], lambda row: row["name"])


class VHostRows:
    """The rows of other nodes, by the name of the virtual host, and the ``headers`` that say whose
    are missing."""

    def __init__(
        self,
        rows: Sequence[PeerRow] = (),
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.headers = headers
        self._by_name: dict[str, list[PeerRow]] = {}
        for row in rows:
            self._by_name.setdefault(row.name, []).append(row)

    def added_to(self, row: Row) -> Row:
        """The row of this node, with what the others have counted."""
        sums = dict(row)
        for each in self._by_name.get(row["name"], ()):
            other = each.row()
            counted = {name: other[name] for name in _COUNTED if name in other}
            mine = {name: sums[name] for name in counted if name in sums}
            sums |= added(mine, counted)
            sums["cluster_state"] = {**sums["cluster_state"], **other["cluster_state"]}
        return sums


async def vhost_rows(request: Request, peers: Peers) -> VHostRows:
    """The rows of the other nodes for the virtual hosts that the request asks for."""
    found = await rows_of_others(request, peers, _ORDER)
    return VHostRows(found.rows, found.headers)
