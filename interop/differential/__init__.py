"""Generated sequences of AMQP operations, run in step on two brokers, and compared."""
