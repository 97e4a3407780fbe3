"""The bench: measures groups of cases in worker processes and returns records.

In: the cases of one workload at one size, the settings, and the base to compare with, if there is one.
Out: one `Record` per case, as soon as it is complete.

Open `bench.py` first: it exports the workload, prepares an arm per case and measures the arms in turn. `rounds/` has
the arms and what happens while their models are loaded, `beside_base/` what a base adds, `processes/` the workers,
and `again/` a case compiled once more for a command. `site.py` says what a place to measure has to offer,
`local_site.py` is this machine; `work_order.py` is what a place is given, `asked.py` of which cases more is measured.
"""
