"""The numbers of connections: of those that a node has dialled, only the newest one counts."""

from __future__ import annotations

from reference_broker.cluster.link.hello import Hello
from reference_broker.errors import LinkError


class ConnectionNumbers:
    """The newest connection of each node that has dialled this one, by purpose. There is one of
    these in a node, shared by its links; it holds only nodes that have proved that they are of the
    cluster, so it stays small."""

    __slots__ = ("_newest",)

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str, int], tuple[int, int]] = {}
        """(run, connection) by node, disk and purpose. Runs are counted on the disk: an empty one
        begins anew."""

    def admit(self, hello: Hello) -> None:
        """Note the connection; the owner ends the older ones of that node and purpose.

        Raises :exc:`LinkError` when it is not the newest itself: its bytes were under way for long,
        and what they say is over.
        """
        key = (hello.node, hello.disk, hello.purpose)
        run, connection = self._newest.get(key, (-1, -1))
        if hello.run < run:
            raise LinkError(
                f"node {hello.node!r} comes from its run {hello.run}, and is in run {run} already:"
                " two processes have its name, or an old one is still there"
            )
        if hello.run == run and hello.connection <= connection:
            raise LinkError(
                f"connection {hello.connection} of node {hello.node!r} is not newer than its"
                f" connection {connection}"
            )
        self._newest[key] = (hello.run, hello.connection)

    def forget(self, node: str) -> None:
        """Drop what is known of ``node``, which has left the cluster. Idempotent."""
        for key in [each for each in self._newest if each[0] == node]:
            del self._newest[key]
