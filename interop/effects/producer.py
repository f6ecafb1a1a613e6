"""The producer: a process that writes orders, each with its row of the outbox, in one transaction
for a few of them.

After an error it asks the database up to which order it had come: a commit whose answer was lost
may have been one.
"""

from __future__ import annotations

import random
import sys
import time

from sqlalchemy import create_engine, func, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from interop.effects.shop import CUSTOMERS, QUEUE, Order
from mqkit import outbox

AGAIN_S = 0.1
AT_ONCE_MAX = 20


def produce(url: str, orders: int, seconds: float, seed: int) -> None:
    """Write the orders, evenly over so many seconds."""
    engine = create_engine(url)
    rng = random.Random(seed)
    begun = time.monotonic()
    done: int | None = None
    while done is None or done < orders:
        try:
            with Session(engine) as session:
                if done is None:
                    done = session.scalar(select(func.count()).select_from(Order)) or 0
                    continue
                count = min(rng.randint(1, AT_ONCE_MAX), orders - done)
                for number in range(done, done + count):
                    _write(session, number)
                session.commit()
                done += count
        except DBAPIError:
            time.sleep(AGAIN_S)
            done = None
            continue
        due = begun + seconds * done / orders
        time.sleep(max(0.0, due - time.monotonic()))


def _write(session: Session, order_id: int) -> None:
    customer, number = order_id % CUSTOMERS, order_id // CUSTOMERS
    body = {"order_id": order_id, "customer": customer, "number": number}
    session.add(Order(id=order_id, customer=customer, number=number))
    outbox.publish(session, "", QUEUE, body, ordering_key=f"customer-{customer}")


if __name__ == "__main__":
    produce(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
