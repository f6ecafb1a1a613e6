from __future__ import annotations

from interop.differential.normal import Names, message, told
from mqkit.wire import Command, Properties, Typed, encode_header, methods

METHOD = methods.BasicDeliver()


def evened(headers: dict[str, object]) -> dict[str, object]:
    header = encode_header(1, Properties(content_type="a", content_encoding="b", headers=headers))
    found = message(Command(methods.BasicDeliver(), header, b"x"), Names())
    assert found["body"] == b"x"
    return dict(found["headers"])


def test_chosen_names_are_numbered_as_they_appear_in_texts_too() -> None:
    names = Names()
    declared = told(methods.QueueDeclareOk("amq.gen-abc_1", 2, 3), names)
    assert declared == ("queue.declare-ok", "<queue 1>", 2, 3)
    close = methods.ChannelClose(404, "NOT_FOUND - no queue 'amq.gen-z-9' in 'amq.gen-abc_1'")
    assert told(close, names)[2] == "NOT_FOUND - no queue '<queue 2>' in '<queue 1>'"
    assert names.evened("amq.ctag-a") == "<tag 1>"


def test_a_wrapped_term_is_one_line() -> None:
    assert Names().evened("{value_too_large,\n              9}") == "{value_too_large,9}"


def test_widths_of_integers_in_texts_count() -> None:
    there, here = (
        Names().evened(f"received the value '5' of type '{width}' but current is none")
        for width in ("byte", "signedint")
    )
    assert there != here


def test_types_of_header_values_count() -> None:
    assert evened({"n": 1}) != evened({"n": True})
    assert evened({"n": 1}) != evened({"n": Typed("l", 1)})
    assert evened({"n": [1.0]}) != evened({"n": [1]})


def test_the_time_of_a_death_does_not_count_its_reason_does() -> None:
    def died(reason: str, time: int) -> dict[str, object]:
        entry = {"reason": reason, "time": Typed("T", time), "count": Typed("l", 1)}
        return evened({"x-death": [entry], "x-last-death-reason": reason})

    assert died("expired", 1) == died("expired", 2)
    assert died("expired", 1) != died("rejected", 1)
    assert "x-last-death-reason" not in died("expired", 1)


def test_what_only_a_later_rabbitmq_sends_or_does_not_send_is_none() -> None:
    def delivered(count: int) -> dict[str, object]:
        headers = {"x-delivery-count": Typed("l", count), "x-acquired-count": Typed("l", 7)}
        return message(Command(METHOD, encode_header(1, Properties(headers=headers)), b""), Names())

    assert "headers" not in delivered(0)
    assert delivered(1)["headers"] == {"x-delivery-count": ("Typed", Typed("l", 1))}


def test_a_publishers_nack_has_no_requeue() -> None:
    names = Names()
    assert told(methods.BasicNack(1, False, True), names) == told(
        methods.BasicNack(1, False, False), names
    )
