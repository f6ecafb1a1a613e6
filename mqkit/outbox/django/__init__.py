"""The outbox as a Django app: the same tables, and messages in a transaction of Django's.

    apps            the app, whose label is mqkit_outbox
    models          the tables; migrations/ makes them
    fields          the columns whose type Django has no field for
    writing         publish() and send(): a row in the caller's transaction

Needs Django and no SQLAlchemy; the relay is another process, or another thread, and the same as
ever (:mod:`mqkit.outbox.relay`). The law of this room: its tables are those of
:mod:`mqkit.outbox.tables`, and a row is as :mod:`mqkit.outbox.writing` writes it.

    INSTALLED_APPS = [..., "mqkit.outbox.django"]

    with transaction.atomic():
        order.save()
        publish("orders", "order.placed", body, ordering_key=order.customer)
"""

from mqkit.outbox.django.writing import publish, send

__all__ = ["publish", "send"]
