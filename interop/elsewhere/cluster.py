"""The two nodes, for the time of a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from interop.elsewhere import node
from mqkit.testing.cluster import Cluster, cluster

CLIENTS = "a"
"""The node that clients are connected to."""

HOME = "b"
"""The node that is the home of every queue that is not exclusive."""


@contextmanager
def queues_elsewhere(options: Sequence[str] = ()) -> Iterator[Cluster]:
    """The two nodes, and their etcd. ``options`` are further ones of ``mqkit broker run``. Raises
    :exc:`~mqkit.testing.ClusterUnavailable`."""
    with cluster(nodes=2, options=options, program=(node.__file__, HOME)) as started:
        yield started
