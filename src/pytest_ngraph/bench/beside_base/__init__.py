"""What a base adds to a group: the other side of each case, and how both are measured in turn.

In: the head's cases and a `Base`. Out: a comparison in each record.

Open `base_sides.py` first: for each case, its base and how the two compare. `differing.py` finds what differs, and so
whether both run in one worker (`paired.py`) or in one each (`paired_apart.py`), timed by `watched.py`.
`further_launches.py` confirms a verdict in fresh processes; `alone_launches.py` launches each side by itself, and
`draws.py` has compilers that search compile once more for each launch. `base_builds.py` builds workloads from the
base's code, `only_at_head.py` names files that it lacks, and `building.py` only builds, for a bisection.
"""
