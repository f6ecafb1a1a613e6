"""A queue at rest."""

from __future__ import annotations

from mqkit.topology.migration.quiet import Look, Quiet

AT_REST = Look(0, 0, 7)


def test_it_takes_looks_for_the_whole_time() -> None:
    quiet = Quiet(10.0)
    assert not quiet.note(AT_REST, 100.0)  # nobody knows yet if anything was published
    assert [quiet.note(AT_REST, now) for now in (101.0, 110.9, 111.0)] == [False, False, True]


def test_whatever_happens_starts_it_over() -> None:
    for busy in (Look(1, 0, 7), Look(0, 1, 7), Look(0, None, 7), Look(0, 0, 8)):
        quiet = Quiet(10.0)
        for now in (0.0, 1.0, 10.9):
            assert not quiet.note(AT_REST, now)
        assert not quiet.note(busy, 11.0)
        again = AT_REST._replace(published=busy.published)
        assert not quiet.note(again, 12.0)
        assert not quiet.note(again, 21.9)
        assert quiet.note(again, 22.0)


def test_no_settling_is_two_looks() -> None:
    quiet = Quiet(0.0)
    assert not quiet.note(AT_REST, 1.0)
    assert quiet.note(AT_REST, 1.0)
