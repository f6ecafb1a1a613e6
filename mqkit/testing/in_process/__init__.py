"""A reference broker in the process of the tests: on a thread and an event loop of its own, in
memory, listening on 127.0.0.1 alone.

    broker_thread   the thread, its loop, and calls into it
    server          the broker's server, with a wall clock that can be stopped
    wall_time       that clock
    vhost           a virtual host of a test's own, made and deleted without AMQP
    timed_vhost     its half of virtual time
    vhost_faults    its faults, and confirm_faults what becomes of confirms
"""
