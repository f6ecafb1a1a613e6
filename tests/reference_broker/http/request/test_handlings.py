"""handlings: what one handling of a request has found or made is known to the next."""

from __future__ import annotations

import pytest
from starlette.requests import Request

from reference_broker.core.work.until import Agreement
from reference_broker.http.request.handlings import Handlings, handlings_of


def _agreement(*, is_agreed: bool, is_new: bool) -> Agreement:
    agreement = Agreement(is_new=is_new)
    agreement.is_agreed = is_agreed
    return agreement


def test_all_handlings_of_a_request_have_the_same_and_another_request_has_its_own() -> None:
    request, other = Request({"type": "http"}), Request({"type": "http"})
    handlings_of(request).deleted["a"] = None
    assert handlings_of(request).deleted == {"a": None}
    assert handlings_of(other).deleted == {}


@pytest.mark.parametrize("is_agreed", [True, False])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_change_that_was_agreed_on_stays_one(is_agreed: bool, is_new: bool) -> None:
    handlings = Handlings()
    handlings.note(_agreement(is_agreed=is_agreed, is_new=is_new))
    handlings.note(_agreement(is_agreed=False, is_new=False))
    assert handlings.has_changed is is_agreed
    assert handlings.has_made is (is_agreed and is_new)
