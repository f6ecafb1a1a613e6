"""The law that the log's books are the sum of the queues' entries, and that nothing is held for
objects that are gone.

For each segment: the live bytes that it is booked with are the shares of the entries whose message
stands in it, in all indexes of all virtual hosts, those of delayed exchanges and windows included.
Too few, and a segment with a confirmed message is deleted; too many, and it never is. And what a
queue has in memory is ready in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from reference_broker.simulation.events.events import Books
from reference_broker.simulation.watch.checkers.checker import Checker


class BooksChecker(Checker):
    name = "books"

    def counted(self, books: Books) -> None:
        if books.astray:
            raise self.fail(f"queues have messages in segments that are gone: {books.astray}")
        if books.unwanted:
            raise self.fail(f"memory has messages that are not ready: {books.unwanted}")
        for base, booked_bytes, shares_bytes in books.segments:
            if booked_bytes != shares_bytes:
                raise self.fail(
                    f"the segment at {base} is booked with {booked_bytes} live bytes, and its "
                    f"entries' shares are {shares_bytes}"
                )

    def left_over(self, held: Mapping[str, int]) -> None:
        for what, count in held.items():
            if count:
                raise self.fail(f"{count} {what} are held, and nothing is there for it")
