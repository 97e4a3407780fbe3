"""How many models run under each compiler, here and in a bare script. `tools/coverage.py` is the command.

`entries.py` lists the models, `architectures.py` those of transformers; `missing.py` runs what is not yet known of one:
`ours.py` through pytest, `bare.py` by the compilers' own interfaces, each in processes that `processes.py` ends at
their limits. `results.py` keeps what was found, and `tables.py` makes the page of it.
"""
