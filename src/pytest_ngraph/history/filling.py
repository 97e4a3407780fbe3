"""Add the records of one file to the index."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from pytest_ngraph.history import facts
from pytest_ngraph.history.summary import Origin, Summary
from pytest_ngraph.store.run import ANCHOR, ANCHOR_COMMIT, BRANCH, COMMIT


class File:
    """Adds the records of one file to the index."""

    def __init__(self, database: sqlite3.Connection, name: str) -> None:
        self._database = database
        self._name = name
        self._sessions: dict[tuple[str, ...], int] = {}
        self._last: tuple[Origin, int] | None = None

    def add(self, origin: Origin, found: Summary, offset: int | None, length: int) -> None:
        """Add a record, in place of an earlier one of the same case in the same session."""
        ratio = found.ratio or (None, None, None, None)
        latency = found.latency or (None, None, None)
        case = self._case(found)
        session = self._session(origin)
        if offset is not None:  # of a run, the last record of a case counts, in whatever session
            sessions = "SELECT id FROM sessions WHERE file = ?"
            self._database.execute(
                f"DELETE FROM records WHERE case_number = ? AND session IN ({sessions})", (case, self._name)
            )
        self._database.execute(
            f"INSERT OR REPLACE INTO records VALUES ({', '.join('?' * 14)})",
            (case, session, found.started_at, found.outcome, _text(found.against), *latency, *ratio, offset, length),
        )

    def _case(self, found: Summary) -> int:
        query, case_id = "SELECT number FROM cases WHERE id = ?", _text(found.case_id)
        known = self._database.execute(query, (case_id,)).fetchone()
        if known is None:
            self._database.execute("INSERT INTO cases (id, parts) VALUES (?, ?)", (case_id, _json(found.case)))
            known = self._database.execute(query, (case_id,)).fetchone()
        return int(known[0])

    def _session(self, origin: Origin) -> int:
        """Return the number of the session that a record belongs to; neighbours mostly belong to the same."""
        if self._last is not None and self._last[0] == origin:
            return self._last[1]
        libraries = self._facts(facts.of_libraries(origin.environment))
        machine = self._facts(facts.of_machine(origin.environment))
        source = [_text(origin.source.get(name, "")) for name in (COMMIT, BRANCH, ANCHOR, ANCHOR_COMMIT)]
        key = (origin.run, *source, libraries, machine)
        if key not in self._sessions:
            made = self._database.execute(
                "INSERT INTO sessions (file, run, commit_id, branch, anchor, anchor_commit, libraries, machine) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._name, *key),
            )
            self._sessions[key] = int(made.lastrowid or 0)
        self._last = (origin, self._sessions[key])
        return self._last[1]

    def _facts(self, found: Mapping[str, str]) -> str:
        digest = facts.digest(found)
        if digest:
            self._database.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (digest, _json(found)))
        return digest


def _json(data: Mapping[str, Any]) -> str:
    return _text(json.dumps(data, sort_keys=True, ensure_ascii=False))


def _text(text: str) -> str:
    """Return a text with question marks for bytes of a name that were not UTF-8: SQLite takes no others."""
    return text.encode(errors="replace").decode()
