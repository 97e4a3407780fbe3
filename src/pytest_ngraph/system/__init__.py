"""Helpers for the operating system and the interpreter, for every room.

Each file is one subject: child processes that run this package (`child`), other commands (`command`, `git`), other
interpreters (`interpreter`), files and locks (`files`), the cores of this thread (`affinity`), what the processor does
(`perf_events`), whether this system can measure (`support`), the garbage collector (`garbage`), what is installed
(`installed`, `entry_points`, `onnx_distributions`), functions that users name by import strings (`user_functions`),
paths in a copied working tree (`relocation`), and code that was imported from a wrong place (`imported_code`). Open
`files.py` and `command.py` first: they are used most.
"""
