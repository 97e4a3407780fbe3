"""Arms: cases in workers, from a compiled model to a record.

In: a case, its exported program and a worker. Out: its rounds, single calls, profile, load and costs to serve.

Open `arm.py` first: one case in one worker. `preparer.py` compiles, loads and verifies its model, `group.py` has arms
take turns, `goal.py` says when they have had enough, and `headroom.py` how many fit into memory together. After the
rounds, `tails.py` times single calls, `load.py` puts models under load, `profiled.py` and `keeping.py` profile them,
and `serving.py` measures what a process costs that only serves the model.
"""
