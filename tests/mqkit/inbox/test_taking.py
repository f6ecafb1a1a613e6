"""Keys, taken on either database."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, create_mock_engine
from sqlalchemy.orm import Session

from mqkit.errors import ConfigurationError
from mqkit.inbox.taking import dialect_of, give_back, take

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_a_key_is_taken_once_for_each_consumer(session: Session) -> None:
    assert take(session, "orders", ["b", "a", "b"], NOW) == {"a", "b"}
    assert take(session, "orders", ["b", "c"], NOW) == {"c"}
    assert take(session, "mails", ["b"], NOW) == {"b"}
    assert take(session, "orders", [], NOW) == set()


def test_one_that_is_given_back_or_rolled_back_is_free(session: Session) -> None:
    take(session, "orders", ["a", "b"], NOW)
    give_back(session, "orders", ["a"])
    assert take(session, "orders", ["a", "b"], NOW) == {"a"}
    session.rollback()
    assert take(session, "orders", ["a", "b"], NOW) == {"a", "b"}


@pytest.mark.parametrize(("commits", "second_has_it"), [(True, False), (False, True)])
def test_who_comes_second_waits_for_the_first(
    plain: Engine, commits: bool, second_has_it: bool
) -> None:
    took: list[set[str]] = []

    def second() -> None:
        with Session(plain) as session:
            took.append(take(session, "orders", ["a"], NOW))
            session.commit()

    with Session(plain) as session:
        take(session, "orders", ["a"], NOW)
        thread = threading.Thread(target=second)
        thread.start()
        (session.commit if commits else session.rollback)()
    thread.join()
    assert took == [{"a"} if second_has_it else set()]


def test_another_database_is_refused() -> None:
    engine = create_mock_engine("oracle://", lambda *_: None)
    with pytest.raises(ConfigurationError, match="this is oracle"):
        dialect_of(Session(engine))  # type: ignore[arg-type]
