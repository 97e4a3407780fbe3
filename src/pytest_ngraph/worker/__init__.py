"""The child process that compiles, verifies and times models, and the protocol that it speaks.

In: JSON requests on standard input. Out: JSON answers on standard output; what libraries print goes to standard error.

Open `__main__.py` first: it reads requests and writes answers. `worker.py` has one method per request, `prepare.py`
compiles and verifies, `measure.py` times, `deploy.py` writes what serves a model. `cold_start.py` times compiling and
loading, for which `priming.py` prepares the process. `cache.py` keeps compiled artifacts. The parent reads answers with
`protocol.py`. `memory.py`, `idle.py` and `usage.py` are what measuring needs of the system.

`fork_server.py` is the process that workers are forked from. `load.py` puts a model under load, with requests from a
process of its own, `generator.py`. `ahead.py` compiles into the cache only. `score.py` calls the user's own score.
"""
