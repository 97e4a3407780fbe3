"""How many models run under each compiler, here and in a bare script. `tools/coverage.py` is the command.

`entries.py` lists the models, `architectures.py` those of transformers; `ours.py` runs one through pytest, `bare.py` by
the compilers' own interfaces; `results.py` keeps what was found, and `tables.py` makes the page of it.
"""
