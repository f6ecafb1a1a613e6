"""mqkit for code that is not asynchronous: scripts, Flask, Django, Celery tasks, threads.

    import mqkit.sync

    app = mqkit.sync.App(topology="topology.yaml")                # connects at the first publish
    outcome = app.publish("orders", "order.placed", order, deadline="5s")

    @app.consumer("payments")
    def pay(order: Order) -> None: ...

    app.run()                                            # until SIGTERM or SIGINT

``app.py`` wires; ``publisher.py`` has the way of a message, ``caller.py`` that of a question,
``link.py`` the connection behind both, ``process.py`` the fork of a process, and ``surrounded.py``
the middleware around a publish.
"""

from mqkit.sync.app import App
from mqkit.sync.around import PublishMiddleware, PublishNext
from mqkit.sync.target import Target

__all__ = ["App", "PublishMiddleware", "PublishNext", "Target"]
