"""The client of a cluster: the session that sends cases to devices and collects their records.

`site` is the cluster as a session sees it, `on_demand` connects to it when the first test needs it, and `remote_host`
answers questions about a device's machine. Groups of cases enter `remote`, the bench, and records leave it. Below it,
`sent_groups` turns groups into tasks and answers into records, which `shapes` checks, `turns` decides which are sent
now, and `dispatch` sends them and waits for them: `deliveries` brings projects to devices first, which `parts` cuts,
`results` fetches answers, `watch` names devices that are silent or away, `refusals` knows which machines refuse, and
`pending` what is still to come. `link` is the connection. `local_project` packs the project under test. Open `remote`
first.
"""
