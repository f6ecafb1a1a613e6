"""Answers and errors in RabbitMQ's form."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request

from reference_broker.errors import ChannelException, ReplyCode
from reference_broker.http.request.answer import (
    ApiError,
    answer_amqp_error,
    answer_api_error,
    answer_http_exception,
    answer_mistake,
    bad_request,
    encode,
    json_response,
)

pytestmark = pytest.mark.anyio

REQUEST = Request({"type": "http"})


def test_json_is_compact_and_ascii_for_any_octets() -> None:
    assert encode({"name": "\udc80ä", "n": [1, None]}) == b'{"name":"\\udc80\\u00e4","n":[1,null]}'


def test_an_answer_is_kept_in_no_cache_and_may_have_headers() -> None:
    answer = json_response({}, HTTPStatus.CREATED, {"location": "q"})
    assert answer.status_code == 201
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["location"] == "q"


async def test_an_error_has_rabbitmqs_two_fields() -> None:
    error = ApiError(HTTPStatus.UNAUTHORIZED, "not_authorised", "no", {"www-authenticate": "x"})
    answer = await answer_api_error(REQUEST, error)
    assert answer.status_code == 401
    assert json.loads(bytes(answer.body)) == {"error": "not_authorised", "reason": "no"}
    assert answer.headers["www-authenticate"] == "x"
    assert json.loads(bytes(bad_request(["a", 1]).response().body))["reason"] == ["a", 1]


async def test_a_refusal_of_the_core_has_code_and_text_as_over_amqp() -> None:
    error = ChannelException(ReplyCode.NOT_FOUND, "no queue 'q' in vhost '/'")
    answer = await answer_amqp_error(REQUEST, error)
    assert answer.status_code == 400
    reason = "404 NOT_FOUND - no queue 'q' in vhost '/'"
    assert json.loads(bytes(answer.body)) == {"error": "bad_request", "reason": reason}


async def test_an_unknown_path_has_a_body_and_a_method_that_is_not_allowed_has_none() -> None:
    missing = await answer_http_exception(REQUEST, HTTPException(404))
    assert json.loads(bytes(missing.body)) == {"error": "Object Not Found", "reason": "Not Found"}
    refused = await answer_http_exception(REQUEST, HTTPException(405, headers={"allow": "GET"}))
    assert (refused.status_code, refused.body, refused.headers["allow"]) == (405, b"", "GET")


async def test_a_mistake_of_ours_shows_nothing_of_itself() -> None:
    answer = await answer_mistake(REQUEST, KeyError("secret"))
    assert answer.status_code == 500
    assert b"secret" not in answer.body
