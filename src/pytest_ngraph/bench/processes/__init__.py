"""Processes that work for the bench, from their start to the removal of what they leave.

In: a compiler, its cores and a home. Out: answers, or `WorkerFailed`.

Open `workers.py` first: it keeps a worker for each compiler. `process.py` is the parent's side of one, with limits of
time and memory (`family.py`); `forked.py` forks them from one that has imported the libraries; `home.py` and
`worker_variables.py` say where and in which environment they run. `exporting.py` has one export a workload. `lock.py`
lets one session measure at a time, `free_cores.py` chooses cores that are idle. `scratch.py`, `leftovers.py` and
`reaper.py` end and remove what is left, also after a crash.
"""
