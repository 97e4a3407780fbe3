"""Helpers for the operating system and the interpreter, for every room.

Each file is one subject: child processes that run this package (`child`), other commands (`command`, `git`), files and
locks (`files`), the cores of this thread (`affinity`), what the processor does (`perf_events`), what is installed
(`installed`, `entry_points`), and paths in a copied working tree (`relocation`). Open `files.py` and `command.py`
first: they are used most. Nothing here knows about measuring.
"""
