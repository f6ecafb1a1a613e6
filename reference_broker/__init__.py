"""A broker that speaks AMQP 0-9-1 as RabbitMQ does, and comes with mqkit.

``mqkit broker run`` or ``python -m reference_broker`` starts it;
:class:`reference_broker.runtime.server.Server` embeds it. Rooms: ``core`` (decisions, no I/O),
``store`` (what survives), ``runtime`` (sockets, timers, the disk thread), ``http`` (the management
API), ``service`` (the process), ``simulation`` (the same broker in a simulated world).
"""
