"""The planted bugs, a module for each part of the broker.

To add one, write a function that patches the broker, and say above it which law should find it::

    @mutant("acks")
    def ack_not_logged(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(Log, "ack", lambda self, *given: None)

A new module goes into :data:`mutants.registry.PLANTED`.
"""
