"""The child process that compiles, verifies and times models, and the protocol that it speaks.

In: JSON requests on standard input. Out: JSON answers on standard output; what libraries print goes to standard error.

Open `__main__.py` first: it reads requests and writes answers. `worker.py` has one method per request, `prepare.py`
compiles and verifies, `measure.py` times, `deploy.py` writes what serves a model. `cold_start.py` times compiling and
loading, for which `priming.py` prepares the process. `cache.py` keeps compiled artifacts. The parent reads answers with
`protocol.py`. `memory.py` and `idle.py` are what measuring needs of the system.
"""
