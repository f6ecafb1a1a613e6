from __future__ import annotations

import pytest

from mqkit_cli.new.service import NAME_MAX, BadName, Service


def test_the_words_of_a_service() -> None:
    assert Service.of("order-mails").words == {
        "name": "order-mails",
        "queue": "order-mails",
        "title": "Order mails",
        "prefix": "ORDER_MAILS",
    }
    assert Service.of("mails", "shop.mail_out").queue == "shop.mail_out"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mails",
        "mails-",
        "9mails",
        "a--b",
        "a/b",
        "../mails",
        "class",
        "é",
        "a" * (NAME_MAX + 1),
    ],
)
def test_names_that_a_service_can_not_have(name: str) -> None:
    with pytest.raises(BadName, match="small letters"):
        Service.of(name)


@pytest.mark.parametrize("queue", ["", "amq.", "a b", 'x"y', "a\nb"])
def test_queues_that_need_a_change_by_hand(queue: str) -> None:
    with pytest.raises(BadName, match=r"change topology\.yaml"):
        Service.of("mails", queue)
