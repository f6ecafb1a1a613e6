from __future__ import annotations

import pytest

from reference_broker.simulation.events.events import Books
from reference_broker.simulation.watch.checkers import BooksChecker, Violation

RIGHT = Books(segments=((0, 300, 300), (1_000, 0, 0)), astray=())


def test_books_that_are_the_sum_of_the_shares_are_right() -> None:
    BooksChecker().counted(RIGHT)


@pytest.mark.parametrize(
    "books",
    [
        RIGHT._replace(segments=((0, 299, 300),)),
        RIGHT._replace(segments=((0, 301, 300),)),
        RIGHT._replace(segments=((0, -300, -300 + 1),)),
        RIGHT._replace(astray=(("q", 7),)),
        RIGHT._replace(unwanted=(("q", 7),)),
    ],
)
def test_others_are_not(books: Books) -> None:
    with pytest.raises(Violation, match="books"):
        BooksChecker().counted(books)


def test_nothing_may_be_left_over() -> None:
    BooksChecker().left_over({"leases": 0})
    with pytest.raises(Violation, match="2 leases"):
        BooksChecker().left_over({"consumers": 0, "leases": 2})
