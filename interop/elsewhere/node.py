"""``python node.py b OPTIONS``: a node of a cluster whose placement is forced.

Every queue that is declared there has its home on the node ``b``, whatever its locator says, and
whether or not it ends with its node: so a client of any other node works over a link. An exclusive
queue is where its connection is. OPTIONS are those of ``python -m reference_broker``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial

import reference_broker.cluster.definitions.node_definitions as wiring
from reference_broker.__main__ import main
from reference_broker.cluster.definitions.placement import NodeRun, Placement, PoliciesFor
from reference_broker.cluster.membership.records import LiveRecord
from reference_broker.core.exchange.definitions import decode_queue


class ForcedPlacement(Placement):
    """The placement of all queues but exclusive ones on the node ``home``, while that is there."""

    def __init__(
        self,
        home: str,
        own: NodeRun,
        homes: Mapping[str, int],
        live: Mapping[str, LiveRecord],
        policies: PoliciesFor,
    ) -> None:
        super().__init__(own, homes, live, policies)
        self._home = home
        self._nodes = live

    def home_of(self, vhost: str, body: bytes, *, with_node: bool) -> NodeRun:
        """See :meth:`Placement.home_of`."""
        home = self._nodes.get(self._home)
        if home is None or decode_queue(body).exclusive:
            return super().home_of(vhost, body, with_node=with_node)
        return NodeRun(self._home, home.run if with_node else 0)


if __name__ == "__main__":
    # The node is what it is everywhere else; only what decides about homes is another one.
    setattr(wiring, Placement.__name__, partial(ForcedPlacement, sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
