"""A device of a cluster: a machine that joins and measures the tasks that it is sent.

`device` joins the cluster and leaves it; `unit` prints a systemd unit for that. `task` has the functions that clients
call here: a `Task` enters, its records leave; `plugin` is what these share. `resident` keeps one `agent_process` from
task to task, whose other end is `agent`, a child process with an ordinary bench. On disk are a `folder`, with the
`projects` that were unpacked and the `results` that were measured, within `quotas`. `quiet` keeps an archive that is
`arriving` apart from measurements, `background` the questions of clients. `policy` and `reservation` decide whether
anything is measured now, and `condition` is what each heartbeat reports. Open `task` first.
"""
