"""Pages as requests, and what is answered."""

from __future__ import annotations

import pytest

from reference_broker.cluster.coordinator import Page, Row
from reference_broker.runtime.etcd.fields import BadAnswer
from reference_broker.runtime.etcd.pages import page_of, page_request, revision_request

HEADER = {"header": {"revision": "8"}}


def test_a_page_is_bounded_and_linearizable() -> None:
    assert page_request("/m/", "", 0) == {
        "key": "L20v",
        "range_end": "L20w",
        "limit": "1000",
        "revision": "0",
    }
    assert page_request("/m/", "/m/a", 7)["key"] == "L20vYQA="
    assert page_request("/m/", "/m/a", 7)["revision"] == "7"


def test_rows_have_the_revisions_that_wrote_them_first_and_last() -> None:
    kvs = [
        {"key": "YQ==", "create_revision": "2", "mod_revision": "3", "value": "eA==", "lease": "9"},
        {"key": "Yg==", "create_revision": "4", "mod_revision": "4"},
    ]
    rows = (Row("a", b"x", 3, 9, created=2), Row("b", b"", 4, created=4))
    assert page_of({**HEADER, "kvs": kvs}, 0) == Page(rows, 8, more=False)
    assert page_of({**HEADER, "kvs": kvs, "more": True, "count": "9"}, 0).more


def test_a_page_of_the_past_is_of_the_revision_that_was_asked_for() -> None:
    assert page_of(HEADER, 5) == Page((), 5, more=False)


def test_a_row_that_is_none_is_refused() -> None:
    with pytest.raises(BadAnswer):
        page_of({**HEADER, "kvs": [{"key": "?"}]}, 0)


def test_the_revision_is_asked_for_with_one_key() -> None:
    assert revision_request("/m/") == {"key": "L20v"}
    assert revision_request("") == {"key": "AA=="}
