"""mqkit.sync.target: values of one type, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

import mqkit.sync
from mqkit.errors import ConfigurationError


class Paid(BaseModel):
    id: int


def test_a_value_goes_there_with_the_name_of_its_type(
    app: mqkit.sync.App, direct: Any, name: str
) -> None:
    paid = app.to("", name, model=Paid)
    assert paid.publish(Paid(id=7), message_id="seven", priority=3)
    _method, properties, body = direct.basic_get(name, auto_ack=True)
    assert (body, properties.type, properties.message_id) == (b'{"id":7}', "Paid", "seven")
    assert paid.message(Paid(id=8), message_id="eight").properties.type == "Paid"


def test_any_other_value_is_refused_before_it_is_sent(app: mqkit.sync.App, faults: Any) -> None:
    with pytest.raises(ConfigurationError, match="takes Paid, not dict"):
        app.to("", "q", model=Paid).publish({"id": 7})  # type: ignore[arg-type]
    assert faults.accepted == 0
