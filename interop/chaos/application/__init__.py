"""The app under test, in a process of its own: mqkit's public API, used as a program would, and a
fact before and after each step."""
