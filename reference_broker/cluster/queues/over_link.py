"""The channel of what goes to another node's clients, as the tracing of a virtual host names it:
their own channels are known to that node alone."""

from __future__ import annotations


class OverLink:
    """The channel and the connection in one. As the holder of a lease it is that of a basic.get."""

    __slots__ = ("node_name",)
    number = 0
    user_name = ""

    def __init__(self, node_name: str) -> None:
        self.node_name = node_name

    @property
    def channel(self) -> OverLink:
        return self

    @property
    def connection(self) -> OverLink:
        return self

    @property
    def peer(self) -> str:
        """The other end, in words."""
        return f"node {self.node_name}"
