"""mqkit_spark.options.values: the text of an option, read."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest

from mqkit_spark.options import values


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@pytest.mark.parametrize(
    ("reader", "given", "value"),
    [
        (values.text, " as it is ", " as it is "),
        (values.boolean, " True", True),
        (values.boolean, "FALSE", False),
        (values.whole_number, "-7", -7),
        (values.number, "1.5", 1.5),
        (values.seconds, "0.25", 0.25),
    ],
)
def test_what_can_be_read(reader: Callable[[str], Any], given: str, value: object) -> None:
    assert reader(given) == value


@pytest.mark.parametrize(
    ("reader", "given", "words"),
    [
        (values.boolean, "yes", "expected true or false, not 'yes'"),
        (values.whole_number, "1.5", "expected a whole number, not '1.5'"),
        (values.whole_number, "9" * 5000, "expected a whole number"),
        (values.number, "x", "expected a number, not 'x'"),
        (values.seconds, "1m", "expected a number of seconds, not '1m'"),
    ],
)
def test_what_cannot(reader: Callable[[str], Any], given: str, words: str) -> None:
    with pytest.raises(ValueError, match="expected") as error:
        reader(given)
    assert words in str(error.value)


def test_a_choice_has_any_letter_case() -> None:
    assert values.choice(Colour, " Blue ") is Colour.BLUE
    with pytest.raises(ValueError, match="expected one of red, blue, not 'green'"):
        values.choice(Colour, "green")
