"""view: whole transactions in their order, told to whoever follows."""

from __future__ import annotations

from reference_broker.cluster.coordinator import Event
from reference_broker.cluster.metadata.view import View


class Heard:
    """A follower that keeps what it is told."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def changed(self, event: Event) -> None:
        self.events.append(event)


def test_followers_hear_of_their_keys_in_order() -> None:
    view, members, everything = View(), Heard(), Heard()
    view.follow("members/", members)
    view.follow("", everything)
    events = [Event("members/a", b"1", 3), Event("live/a", b"2", 3), Event("members/a", None, 4)]
    list(view.take(events))
    assert members.events == [events[0], events[2]]
    assert everything.events == events


def test_it_knows_the_revision_of_each_key() -> None:
    view = View()
    list(view.take([Event("a", b"1", 3), Event("b", b"1", 3)]))
    list(view.take([Event("a", b"2", 5), Event("b", None, 6)]))
    assert (view.revision_of("a"), view.revision_of("b"), len(view)) == (5, 0, 1)
    assert list(view.keys()) == ["a"]


def test_a_key_that_was_never_there_goes_without_a_word() -> None:
    view, heard = View(), Heard()
    view.follow("", heard)
    list(view.take([Event("a", None, 3)]))
    assert heard.events == []


def test_it_is_whole_when_a_revision_is_reached() -> None:
    view, told = View(), list[tuple[str, int]]()
    view.listen(lambda: told.append(("risen", view.revision.value)))
    view.revision.when_at(5, lambda: told.append(("waited", view.revision.value)))
    assert not view.is_whole
    view.reach(4)
    assert view.is_whole
    view.reach(4)
    view.reach(6)
    assert told == [("risen", 4), ("waited", 6), ("risen", 6)]
