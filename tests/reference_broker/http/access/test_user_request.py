"""The body of a PUT of a user; the rest of it is in test_access_api, on both brokers."""

from __future__ import annotations

import base64

import pytest

from reference_broker.core.access.passwords import ARGON2ID
from reference_broker.http.access.user_request import UserRequest
from reference_broker.http.request.answer import ApiError


def body(costs: str) -> dict[str, str]:
    text = f"$argon2id$v=19${costs}$c2FsdHNhbHQ$ZGlnZXN0"
    encoded = base64.b64encode(text.encode()).decode()
    return {"tags": "", "password_hash": encoded, "hashing_algorithm": ARGON2ID}


def test_a_hash_of_ours_is_taken_as_it_is() -> None:
    assert UserRequest.parse(body("m=19456,t=2,p=1")).tags == ()


@pytest.mark.parametrize("costs", ["m=4194304,t=2,p=1", "m=19456,t=4294967295,p=1", "m=1"])
def test_a_hash_that_everybody_could_stop_the_broker_with_is_not(costs: str) -> None:
    with pytest.raises(ApiError, match="unsupported_hash") as refused:
        UserRequest.parse(body(costs))
    assert refused.value.status == 400
