"""The page of a node of a cluster: its nodes, whose row is whose, and who could not be asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pika
import pytest
from playwright.sync_api import Locator, Page, expect

from mqkit.testing import Cluster, ClusterUnavailable, cluster

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class _Asked:
    """The node that the page asks, in the place of the session's broker."""

    url: str
    management_url: str


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    try:
        with cluster(nodes=2) as found:
            yield found
    except ClusterUnavailable as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def reference_broker(nodes: Cluster) -> _Asked:
    return _Asked(nodes["a"].url, f"http://127.0.0.1:{nodes['a'].management_port}")


@pytest.fixture
def elsewhere(nodes: Cluster) -> Iterator[str]:
    """A durable queue of node b, with a consumer that is connected there."""
    connection = pika.BlockingConnection(pika.URLParameters(nodes["b"].url))
    channel = connection.channel()
    channel.queue_declare("elsewhere", durable=True)
    channel.basic_consume("elsewhere", lambda *_: None, consumer_tag="at b")
    yield "elsewhere"
    with suppress(pika.exceptions.AMQPConnectionError):  # a test may have killed the node
        connection.close()


def _row(page: Page, table: str, text: str) -> Locator:
    return page.get_by_role("table", name=table).get_by_role("row").filter(has_text=text)


def _cell(row: Locator, title: str) -> Locator:
    return row.locator(f'[data-label="{title}"]')


def test_all_nodes_are_shown_and_which_one_is_asked(page: Page, elsewhere: str) -> None:
    panel = page.get_by_role("region", name="Nodes")
    expect(panel.get_by_role("row")).to_have_count(3)
    a, b = _row(page, "Nodes", "mqkit@a"), _row(page, "Nodes", "mqkit@b")
    expect(_cell(a, "Node")).to_have_text("mqkit@a (this one)")
    expect(_cell(b, "Node")).to_have_text("mqkit@b")
    for row in (a, b):
        expect(_cell(row, "State")).to_have_text("running")
        expect(_cell(row, "Up for")).to_have_text(re.compile(r"\d+ (s|min)"))
        expect(_cell(row, "Memory")).to_have_text(re.compile(r"[\d.]+ MiB"))
        expect(_cell(row, "Disk free")).to_have_text(re.compile(r"[\d.]+ .iB"))
        expect(_cell(row, "Alarms")).to_have_text("none")
        expect(_cell(row, "Links")).to_have_text("1 of 1")
    expect(_cell(b, "Connections")).to_have_text("1")
    expect(_cell(b, "Queues")).to_have_text("1")
    expect(_cell(a, "Queues")).to_have_text("0")
    expect(page.locator("#missing")).to_be_hidden()


def test_lists_say_of_which_node_a_row_is(page: Page, elsewhere: str) -> None:
    page.get_by_role("link", name="Queues").click()
    expect(page.get_by_role("columnheader", name="Node")).to_be_visible()
    expect(_cell(_row(page, "Queues", elsewhere), "Node")).to_have_text("mqkit@b")
    page.get_by_role("link", name="Connections").click()
    expect(_cell(_row(page, "Connections", "127.0.0.1:"), "Node")).to_have_text("mqkit@b")
    page.goto(f"/#/queues/%2F/{quote(elsewhere)}")
    expect(page.get_by_text("In virtual host /, at home on mqkit@b")).to_be_visible()
    consumer = _row(page, "Consumers of this queue", "at b")
    expect(_cell(consumer, "Node")).to_have_text("mqkit@b")


def test_who_may_not_see_nodes_sees_whose_rows_they_are(
    nodes: Cluster, reference_broker: _Asked, page: Page, elsewhere: str
) -> None:
    api = f"{nodes['a'].management_url}/api"
    user = {"password": "secret", "tags": "management"}
    httpx.put(f"{api}/users/ann", json=user).raise_for_status()
    allowed = {"configure": ".*", "write": ".*", "read": ".*"}
    httpx.put(f"{api}/permissions/%2F/ann", json=allowed).raise_for_status()
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("User").fill("ann")
    page.get_by_label("Password").fill("secret")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_text("Not shown: ")).to_be_visible()
    expect(page.get_by_role("region", name="Nodes")).to_be_hidden()
    page.get_by_role("link", name="Queues").click()
    expect(_cell(_row(page, "Queues", elsewhere), "Node")).to_have_text("mqkit@b")


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(page: Page, elsewhere: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for view in ("overview", "queues", "connections"):
        page.goto(f"/#/{view}")
        expect(page.get_by_text("mqkit@b").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def test_what_is_missing_in_words(bare_page: Page) -> None:
    said = bare_page.evaluate(
        """async () => {
            const { Missing } = await import("/page/missing.js");
            const headers = (of) => new Headers(of);
            const missing = new Missing();
            const said = [missing.words()];
            missing.take(headers({}));
            said.push(missing.words());
            missing.take(headers({ "x-mqkit-unreachable": "mqkit@c,mqkit@b" }));
            missing.add(["mqkit@c", "mqkit@d"]);
            said.push(missing.words());
            missing.take(headers({ "x-mqkit-cut": "mqkit@e" }));
            return [...said, missing.words()];
        }"""
    )
    gone = (
        "mqkit@b, mqkit@c and mqkit@d did not answer within a second: what is there is not shown."
    )
    cut = "mqkit@e had more to tell than fits a second: a part of it is not shown."
    assert said == ["", "", gone, f"{gone} {cut}"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"node": "mqkit@a", "state": "running"}, "mqkit@a"),
        ({"node": "mqkit@a", "state": "down"}, "mqkit@a, down"),
        ({}, ""),
    ],
)
def test_a_node_in_words(module: Callable[..., Any], row: dict[str, str], words: str) -> None:
    assert module("nodes", "nodeWords", row) == words


@pytest.mark.parametrize(
    ("queues", "words"),
    [
        (0, "mqkit@b is down: it has no queue."),
        (1, "mqkit@b is down: 1 queue is unavailable."),
        (1_200, "mqkit@b is down: 1,200 queues are unavailable."),
    ],
)
def test_an_absence_in_words(module: Callable[..., Any], queues: int, words: str) -> None:
    here = {"name": "mqkit@a", "running": True, "state": "running", "queues": 7}
    gone = {"name": "mqkit@b", "running": False, "state": "down", "queues": queues}
    assert module("nodes", "absences", [here, gone]) == [words]


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("node 'mqkit@a' is cut off", "mqkit@a takes no clients: node 'mqkit@a' is cut off."),
        ("", "mqkit@a takes no clients."),
    ],
)
def test_a_pause_in_words(module: Callable[..., Any], reason: str, words: str) -> None:
    here = {"name": "mqkit@a", "running": False, "state": "paused", "reason": reason, "queues": 7}
    assert module("nodes", "absences", [here]) == [words]


def test_a_node_that_is_gone_is_told_in_words(nodes: Cluster, page: Page, elsewhere: str) -> None:
    """Plays last. While etcd is away too, nobody can say that the node is down."""
    row = _row(page, "Nodes", "mqkit@b")
    expect(_cell(row, "State")).to_have_text("running")
    nodes.etcd.kill()
    nodes.kill("b")
    expect(_cell(row, "State")).to_have_text("not reached")
    expect(page.locator("#missing")).to_have_text(
        "mqkit@b did not answer within a second: what is there is not shown."
    )
    alarms = page.locator(".alarm")
    expect(alarms).to_have_text("mqkit@b can't be reached from this node: 1 queue is unavailable.")
    for title in ("Up for", "Connections", "Memory", "Disk free", "Alarms", "Links"):
        expect(_cell(row, title)).to_have_text("–")
    expect(_cell(_row(page, "Nodes", "mqkit@a"), "Links")).to_have_text("0 of 1")
    page.get_by_role("link", name="Connections").click()
    expect(page.locator("#missing")).to_contain_text("mqkit@b did not answer")
    nodes.etcd.start()
    page.get_by_role("link", name="Queues").click()
    expect(_cell(_row(page, "Queues", elsewhere), "Node")).to_have_text("mqkit@b, down")
    expect(_cell(_row(page, "Queues", elsewhere), "Ready")).to_have_text("–")
    page.get_by_role("link", name="Overview").click()
    expect(_cell(row, "State")).to_have_text("down")
    expect(alarms).to_have_text("mqkit@b is down: 1 queue is unavailable.")
    expect(page.locator("#missing")).to_be_hidden()
