"""A folder that serves a measured model: what production needs of it, without this package.

In: a stored run, and the id of a case or the wish for the fastest of each group. Out: a folder with the compiled model,
`serve.py`, its requirements, sample inputs, reference outputs and a README.

`choice.py` finds the record and refuses what cannot be deployed. `bench/again/deploying.py` compiles, and the worker
writes the folder (`serving/`); `readme.py` describes it. `folder.py` puts it together and runs the new folder's own
check: open it first.
"""
