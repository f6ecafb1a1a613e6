"""The needs of handlers, read from signatures."""

from __future__ import annotations

from typing import Any, cast

import pytest

from mqkit.errors import ConfigurationError
from mqkit.message import Delivery
from mqkit.resources import Dependency, Plan, Scope, depends


def client() -> str:
    return "client"


def session(client: str = depends(client, scope="app")) -> str:
    return f"session of {client}"


def tenant(delivery: Delivery, *, extra: int = 3) -> str:
    return str(delivery.headers["tenant"])


CLIENT = Dependency(client, Scope.APP)
SESSION = Dependency(session, Scope.MESSAGE)
TENANT = Dependency(tenant, Scope.MESSAGE)


def plan_of(function: Any, *, has_delivery: bool = True) -> Plan:
    return Plan.read(function, "a handler", has_delivery=has_delivery)


def test_a_plan_has_what_the_needed_need() -> None:
    def handle(
        body: bytes, own: int = 1, *, s: str = depends(session), t: str = depends(tenant)
    ) -> None: ...

    plan = plan_of(handle)
    assert plan.handler.resources == {"s": SESSION, "t": TENANT}
    assert plan.of[SESSION].resources == {"client": CLIENT}
    assert plan.of[TENANT].delivery == "delivery"
    assert set(plan.of) == {CLIENT, SESSION, TENANT}


def test_who_needs_nothing_has_no_plan() -> None:
    def handle(body: bytes, own: int = 1) -> None: ...

    assert plan_of(handle).is_empty
    assert plan_of(print).is_empty


def test_an_object_and_a_class_can_make_a_resource() -> None:
    class Session:
        def __init__(self, client: str = depends(client, scope="app")) -> None: ...

    class Factory:
        def __call__(self, delivery: Delivery) -> str:
            return ""

    factory = Factory()

    made = depends(factory)

    def handle(s: Session = depends(Session), t: str = made) -> None: ...

    plan = plan_of(handle)
    assert plan.of[Dependency(Session, Scope.MESSAGE)].resources == {"client": CLIENT}
    assert plan.of[Dependency(factory, Scope.MESSAGE)].delivery == "delivery"
    assert plan.handler.resources["t"].name.endswith("Factory")


def of_the_app(delivery: Delivery) -> None: ...
def short_lived(s: str = depends(session)) -> None: ...
def two(a: int, b: int) -> None: ...
def no_delivery(a: int) -> None: ...
def unresolved(a: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037


@pytest.mark.parametrize(
    ("function", "scope", "words"),
    [
        (of_the_app, "app", "no Delivery is the app's"),
        (short_lived, "app", "ends with each message"),
        (two, "message", "takes 'a', 'b'"),
        (no_delivery, "message", "annotated Delivery"),
        (unresolved, "message", "can't be resolved"),
    ],
)
def test_what_nobody_could_give_is_refused(function: Any, scope: Any, words: str) -> None:
    needed = depends(function, scope=scope)

    def handle(body: bytes, x: Any = needed) -> None: ...

    with pytest.raises(ConfigurationError, match=words):
        plan_of(handle)


def test_a_batch_has_no_delivery_to_give() -> None:
    def handle(body: bytes, t: str = depends(tenant)) -> None: ...

    with pytest.raises(ConfigurationError, match="a batch has many"):
        plan_of(handle, has_delivery=False)


def test_a_resource_is_given_by_name() -> None:
    def handle(body: bytes, t: str = depends(tenant), /) -> None: ...

    with pytest.raises(ConfigurationError, match="take the / out"):
        plan_of(handle)
    assert cast(object, depends(tenant)) == TENANT
