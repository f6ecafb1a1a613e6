"""The catalogue of methods: complete, in order, and which of them carry content."""

from __future__ import annotations

from mqkit.wire import methods
from mqkit.wire.spec import ClassId


def test_the_catalogue_is_complete_and_in_order() -> None:
    ids = [(method.CLASS_ID, method.METHOD_ID) for method in methods.ALL_METHODS]
    assert ids == sorted(set(ids))
    assert len(ids) == 66
    assert {class_id for class_id, _ in ids} == set(ClassId)


def test_every_method_is_exported_under_its_name() -> None:
    exported = set(methods.__all__) - {"ALL_METHODS", "Method"}
    assert exported == {method.__name__ for method in methods.ALL_METHODS}
    for method in methods.ALL_METHODS:
        words = method.NAME.replace(".", "-").split("-")
        assert method.__name__ == "".join(word.capitalize() for word in words)


def test_four_methods_carry_content() -> None:
    assert [method.NAME for method in methods.ALL_METHODS if method.HAS_CONTENT] == [
        "basic.publish",
        "basic.return",
        "basic.deliver",
        "basic.get-ok",
    ]


def test_methods_are_values() -> None:
    assert methods.BasicAck(1) == methods.BasicAck(1, multiple=False)
    assert methods.BasicAck(1) != methods.BasicAck(2)
    assert not hasattr(methods.BasicAck(1), "__dict__")
    assert "reserved" not in repr(methods.QueueDeclare("q"))


def test_argument_tables_are_not_shared() -> None:
    methods.QueueDeclare().arguments["x-max-length"] = 1
    assert methods.QueueDeclare().arguments == {}


def test_what_may_be_a_password_is_in_no_repr() -> None:
    secret = b"canary-in-the-mine"
    for method in (
        methods.ConnectionStartOk(response=secret),
        methods.ConnectionSecureOk(secret),
        methods.ConnectionUpdateSecret(secret, "because"),
    ):
        assert "canary" not in repr(method)
    assert "because" in repr(methods.ConnectionUpdateSecret(secret, "because"))
