"""The shell around the core: sockets, timers, TLS, and the threads that use the disk.

``process`` knows neither a socket nor a file of the log; on it stand ``net`` and ``disk``, which
know nothing of each other; then ``tls``, the configuration, the first users, and the server, which
wires all of them. Read ``server.py`` first.
"""
