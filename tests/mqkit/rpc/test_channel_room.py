"""The room for another channel: which of those that are kept has to go."""

from __future__ import annotations

from dataclasses import dataclass

from mqkit.rpc.channel_room import CHANNELS_MAX, make_room


@dataclass
class Channel:
    """A reply channel as its caller sees it."""

    is_open: bool = True
    is_idle: bool = True


def test_those_that_are_gone_are_forgotten_whatever_their_number() -> None:
    channels = {"a": Channel(is_open=False, is_idle=False), "b": Channel()}
    assert make_room(channels) is None
    assert list(channels) == ["b"]


def test_the_first_idle_one_goes_when_there_are_enough() -> None:
    channels = {str(number): Channel() for number in range(CHANNELS_MAX)}
    channels["0"].is_idle = False
    expected = channels["1"]
    assert make_room(channels) is expected
    assert len(channels) == CHANNELS_MAX - 1
    assert "0" in channels
    assert make_room(channels) is None


def test_gone_ones_make_room_before_an_idle_one_does() -> None:
    channels = {str(number): Channel() for number in range(CHANNELS_MAX)}
    channels["5"].is_open = False
    assert make_room(channels) is None
    assert len(channels) == CHANNELS_MAX - 1


def test_where_all_are_in_use_there_is_one_more() -> None:
    channels = {str(number): Channel(is_idle=False) for number in range(CHANNELS_MAX)}
    assert make_room(channels) is None
    assert len(channels) == CHANNELS_MAX
