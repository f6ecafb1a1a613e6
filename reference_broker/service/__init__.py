"""The broker as a program: options, configuration file, ready line, signals, exit code.

Two command lines are made of it, and differ in their parser alone: ``python -m reference_broker``
(argparse, with ``mqkit[broker]``) and ``mqkit broker run`` (typer, with ``mqkit[cli]``). Read
``process.py`` first. Only this room knows that there is a terminal; no other room imports it.
"""
