"""A target: its type, checked when it runs and by the type checker, and sent as a property."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypedDict

import pytest
from pydantic import BaseModel

from mqkit import App, ConfigurationError, Confirmed, Outcome, Target
from mqkit.publishing.outgoing import outgoing

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]


class OrderPaid(BaseModel):
    id: int


class Refunded(OrderPaid):
    pass


@dataclass
class Point:
    x: int


class Row(TypedDict):
    x: int


class Named(Protocol):
    name: str


class Publishes:
    """Notes what it is to publish."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    async def __call__(self, *place: Any, **options: Any) -> Outcome:
        self.calls.append((place, options))
        return Confirmed("m")


def target(model: Any = None, name: str | None = None) -> tuple[Target[Any], Publishes]:
    publishes = Publishes()
    return Target(publishes, "orders", "order.paid", model, name), publishes


async def test_what_is_published_goes_there_with_its_type_and_all_options() -> None:
    orders, publishes = target(OrderPaid)
    paid = OrderPaid(id=7)
    assert await orders.publish(
        paid, message_id="m", deadline="5s", resend=False, on_blocked="fail", priority=3
    ) == Confirmed("m")
    assert publishes.calls == [
        (
            ("orders", "order.paid", paid),
            {
                "message_id": "m",
                "headers": None,
                "deadline": "5s",
                "resend": False,
                "on_blocked": "fail",
                "priority": 3,
                "type": "OrderPaid",
            },
        )
    ]


def test_a_message_is_as_any_other_with_a_type() -> None:
    orders, _ = target(OrderPaid)
    paid = OrderPaid(id=7)
    assert orders.message(paid, message_id="m", headers={"h": 1}, app_id="a") == outgoing(
        "orders", "order.paid", paid, message_id="m", headers={"h": 1}, app_id="a", type="OrderPaid"
    )


@pytest.mark.parametrize("value", [{"id": 7}, Point(7), None, b"{}", OrderPaid])
async def test_a_value_of_another_type_is_refused_before_anything_is_sent(value: Any) -> None:
    orders, publishes = target(OrderPaid)
    told = "'orders', 'order.paid' takes OrderPaid, not "
    with pytest.raises(ConfigurationError, match=told):
        await orders.publish(value)
    with pytest.raises(ConfigurationError, match=told):
        orders.message(value)
    assert publishes.calls == []


@pytest.mark.parametrize(
    ("model", "name", "value", "type_"),
    [
        (OrderPaid, None, Refunded(id=7), "OrderPaid"),
        (OrderPaid, "order.paid.v2", OrderPaid(id=7), "order.paid.v2"),
        (Point, None, Point(7), "Point"),
        (str, None, "text", "str"),
        (None, None, {"any": "thing"}, None),
        (None, "anything", b"octets", "anything"),
    ],
)
def test_the_type_property_is_the_models_name_or_its_own(
    model: Any, name: str | None, value: object, type_: str | None
) -> None:
    orders, _ = target(model, name)
    assert orders.type == type_
    assert orders.message(value).properties.type == type_
    assert orders.message(value, type="mine").properties.type == "mine"
    assert orders.message(value, type=None).properties.type == type_


@pytest.mark.parametrize("model", [list[int], int | str, Row, Named, "OrderPaid", OrderPaid(id=7)])
def test_a_model_is_a_class_whose_instances_can_be_told(model: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"model=.*expected a class"):
        target(model)


@pytest.mark.parametrize(
    ("exchange", "routing_key", "name", "told"),
    [
        (OrderPaid, "k", None, "exchange=<class .*expected a text"),
        ("x", None, None, "routing_key=None: expected a text"),
        ("x" * 256, "k", None, "exchange: AMQP has room for 255"),
        ("x", "k" * 256, None, "routing_key: AMQP has room for 255"),
        ("x", "k", "n" * 256, "name: AMQP has room for 255"),
    ],
)
def test_names_are_checked_when_it_is_made(
    exchange: Any, routing_key: Any, name: str | None, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        App("amqp://127.0.0.1/").to(exchange, routing_key, name=name)


# -- by the type checker -----------------------------------------------------------------------

MODELS = """
from pydantic import BaseModel
import mqkit

class OrderPaid(BaseModel):
    id: int

class OrderLost(BaseModel):
    id: int

app = mqkit.App("amqp://127.0.0.1/")
orders = app.to("orders", "order.paid", model=OrderPaid)
anything = app.to("orders", "order.any")
"""

RIGHT = """
import asyncio

async def main() -> None:
    outcome: mqkit.Outcome = await orders.publish(
        OrderPaid(id=1), deadline="5s", resend=False, on_blocked="fail", priority=3, expiration="1m"
    )
    await anything.publish({"any": "thing"}, type="thing")
    await app.publish_batch([orders.message(OrderPaid(id=1)), anything.message(b"octets")])
    await app.send(app.message("x", "k", b"", correlation_id="c", persistent=False))
    await asyncio.create_task(orders.publish(OrderPaid(id=1)))
    typed: mqkit.Target[OrderPaid] = orders
    if not outcome and isinstance(outcome, mqkit.Unknown):
        print(outcome.sent)
"""

WRONG = """
async def main() -> None:
    await orders.publish(OrderLost(id=1))
    await orders.publish({"id": 1})
    orders.message(OrderLost(id=1))
    await orders.publish(OrderPaid(id=1), priority="high")
    await orders.publish(OrderPaid(id=1), on_blocked="maybe")
    await app.publish("x", "k", b"", prority=1)
    app.message("x", "k", b"", expiration=None, timestamp=5)
    app.to("orders", "order.paid", model=OrderPaid(id=1))
"""


@pytest.mark.slow
def test_a_type_checker_takes_the_right_program_and_finds_each_mistake_of_the_wrong(
    tmp_path: Path,
) -> None:
    for name, program in {"right": RIGHT, "wrong": WRONG}.items():
        (tmp_path / f"{name}_program.py").write_text(MODELS + program)
    files = sorted(map(str, tmp_path.glob("*.py")))
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--strict", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = (MODELS + WRONG).splitlines()
    begin = lines.index("async def main() -> None:") + 2
    errors = [line for line in ran.stdout.splitlines() if ": error: " in line]
    assert all("wrong_program.py" in line for line in errors), ran.stdout
    found = {int(line.split(":")[1]) for line in errors}
    assert found == set(range(begin, len(lines) + 1)), ran.stdout + ran.stderr
