"""``mqkit ctl``: the commands of ``rabbitmqctl`` that can be done over HTTP.

For scripts, and for other people's test suites, which drive their broker through it: same names,
options, columns and exit codes. It speaks to any broker that has RabbitMQ's management API.
"""
