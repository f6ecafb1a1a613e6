"""Logging in, and where the login is kept."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, expect

pytestmark = pytest.mark.slow

STORED = "Basic Z3Vlc3Q6Z3Vlc3Q="


def test_a_wrong_password_is_told_and_nothing_is_shown(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/#/queues")
    page.get_by_label("User").fill("guest")
    page.get_by_label("Password").fill("wrong")
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_text("Wrong user or password.")).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_label("User").fill("guest")
    page.get_by_label("Password").fill("guest")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()


def test_a_reload_keeps_the_login_and_logging_out_ends_it(page: Page) -> None:
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("Logged in as guest (administrator)")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("User")).to_be_focused()
    assert page.evaluate("sessionStorage.length") == 0
    page.reload()
    expect(page.get_by_label("Password")).to_be_visible()


def test_the_login_is_in_this_tab_only(page: Page, context: BrowserContext) -> None:
    assert page.evaluate("Object.values(sessionStorage)") == [STORED]
    assert page.evaluate("localStorage.length") == 0
    assert context.cookies() == []
    assert "guest" not in page.url
    assert "guest" not in page.get_by_label("Password").input_value()
    other = context.new_page()
    other.goto("/")
    expect(other.get_by_label("User")).to_be_visible()


def test_a_login_that_ends_shows_the_form_again(log_in: Callable[[], Page]) -> None:
    page = log_in()
    page.evaluate("sessionStorage.setItem('mqkit.authorization', 'Basic eDp5')")
    expect(page.get_by_text("Log in again")).to_be_visible()
    expect(page.get_by_role("heading", name="Overview")).to_be_hidden()


def test_names_and_passwords_are_utf_8(module: Callable[..., str]) -> None:
    module("session", "begin", "jörg", "p:ß")
    assert module("session", "authorization") == "Basic asO2cmc6cDrDnw=="
