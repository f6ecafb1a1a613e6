"""resync: what makes an older view what was read, and nothing more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.coordinator import Event, Page, Row
from reference_broker.cluster.metadata.resync import PORTION, Resync
from reference_broker.cluster.metadata.view import View

P = "/mqkit/c/"


def _events(resync: Resync) -> list[Event]:
    return [event for portion in resync.portions() for event in portion]


def _row(key: str, revision: int, created: int = 0) -> Row:
    return Row(P + key, b"v", revision, 0, created or revision)


def test_only_what_changed_is_applied() -> None:
    view = View()
    list(view.take([Event("a", b"v", 2), Event("b", b"v", 3), Event("c", b"v", 4)]))
    resync = Resync(view)
    resync.add(Page((_row("a", 2), _row("b", 9, 3)), 9, True), P)
    assert (resync.after, resync.revision) == (P + "b", 9)
    resync.add(Page((_row("d", 8),), 9, False), P)
    assert _events(resync) == [
        Event("c", None, 9),
        Event("b", b"v", 9, 0, 3),
        Event("d", b"v", 8, 0, 8),
    ]


def test_nothing_is_there_without_what_it_speaks_of() -> None:
    view = View()
    gone = ["def/queue/%2F/q", "def/exchange/%2F/e", "def/binding/%2F/1"]
    list(view.take([Event(key, b"v", number) for number, key in enumerate(gone, start=2)]))
    resync = Resync(view)
    came = ["def/binding/x/1", "def/exchange/x/e", "def/queue/x/q", "def/vhost/x"]
    # The virtual host was changed last: its labels.
    rows = [_row(key, 10 + number) for number, key in enumerate(came)]
    resync.add(Page(tuple(rows), 20, False), P)
    assert [event.key for event in _events(resync)] == [
        "def/binding/%2F/1",
        "def/queue/%2F/q",
        "def/exchange/%2F/e",
        "def/vhost/x",
        "def/exchange/x/e",
        "def/queue/x/q",
        "def/binding/x/1",
    ]


def test_bindings_come_in_the_order_in_which_they_were_made() -> None:
    resync = Resync(View())
    rows = (_row("def/binding/x/a", 9), _row("def/binding/x/b", 7), _row("def/binding/x/c", 8))
    resync.add(Page(rows, 9, False), P)
    assert [event.key[-1] for event in _events(resync)] == ["b", "c", "a"]


def test_it_comes_in_portions() -> None:
    resync = Resync(View())
    resync.add(Page(tuple(_row(f"k{n:04}", n + 2) for n in range(250)), 300, False), P)
    assert [len(portion) for portion in resync.portions()] == [PORTION, PORTION, 50]


def test_an_empty_cluster_is_read_at_its_revision() -> None:
    resync = Resync(View())
    resync.add(Page((), 7, False), P)
    assert (resync.revision, resync.portions()) == (7, [])


_rows = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 30))


@given(_rows, _rows)
def test_the_view_is_what_was_read(before: dict[str, int], now: dict[str, int]) -> None:
    view = View()
    list(view.take([Event(key, b"v", revision) for key, revision in before.items()]))
    resync = Resync(view)
    for key, revision in sorted(now.items()):
        resync.add(Page((_row(key, revision),), 30, True), P)
    resync.add(Page((), 30, False), P)
    for portion in resync.portions():
        list(view.take(portion))
    assert {key: view.revision_of(key) for key in list(view.keys())} == now
