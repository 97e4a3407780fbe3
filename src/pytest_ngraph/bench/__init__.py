"""The bench: measures groups of cases in worker processes and returns records.

In: the cases of one workload at one size, the settings, and the base to compare with, if there is one.
Out: one `Record` per case, as soon as it is complete.

Open `bench.py` first: it exports the workload, prepares an arm per case and measures the arms in turn. Then `arm.py`
(one case in one worker), `group.py` (taking turns), `differing.py` (how a case is compared with its base), `paired.py`
(a case beside its base) and `process.py` (the parent's side of a worker). `site.py` says what a place to measure has to
offer, `local_site.py` is this machine.
"""
