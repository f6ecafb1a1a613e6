"""The ``mqkit`` command: run a broker, plan and apply topology, send and repair messages."""
