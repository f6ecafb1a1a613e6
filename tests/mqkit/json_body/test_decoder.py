"""JSON bodies as values of a type."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from mqkit.errors import ConfigurationError
from mqkit.incoming import BodyMisfit
from mqkit.json_body.decoder import FAULTS_SHOWN, json_decoder
from mqkit.message import Delivery, Properties


class Order(BaseModel):
    cents: int


def delivery(body: bytes) -> Delivery:
    return Delivery("", "q", body, Properties(), 1, False)


def test_a_body_becomes_a_value() -> None:
    assert json_decoder(Order, "a test")(delivery(b'{"cents": 5}')) == Order(cents=5)
    assert json_decoder(list[int], "a test")(delivery(b"[1, 2]")) == [1, 2]


def test_a_misfit_names_the_first_faults_and_shows_nothing_of_the_body() -> None:
    with pytest.raises(BodyMisfit) as misfit:
        json_decoder(list[int], "a test")(delivery(b"[" + b'"secret",' * 9 + b'"secret"]'))
    told = str(misfit.value)
    assert told.count("valid integer") == FAULTS_SHOWN
    assert told.endswith("and 5 more")
    assert "secret" not in told


def test_a_type_that_json_has_not_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"a test asks for .*Plain"):
        json_decoder(type("Plain", (), {}), "a test")
