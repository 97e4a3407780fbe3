"""The machine that measures: what it is, what is installed there, and what else it does at the same time.

In: nothing but the system, `devices.toml` and the environment. Out: a `Machine`, devices with their compile targets,
the provenance of results, and counters of other work.

Open `machine.py` first: what this machine is, with `processor.py` and `cores.py`. `devices.py` has the named profiles
of machines, `host.py` the machine that measures, this one or a cluster's device. `provenance.py` lists what results
depend on, with `compiler_code.py`, `source_files.py` and `imported_files.py`. `contention.py` reads the kernel's
counters, `cgroup.py` a container's limits, `gpus.py` the GPUs, `health.py` how the machine is now.
"""
