"""A folder that serves: its script, its requirements, and what a process costs that only serves it.

In: what a compiler's `deploy` returns (`compilers/serving/`). Out: `serve.py`, `requirements.txt`, and the figures of
launches in fresh processes.

`script.py` and `requirements.py` write; the worker calls them. `launches.py` starts the processes that are measured:
open it first. `client.py` is what runs in them.
"""
