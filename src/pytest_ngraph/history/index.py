"""The index: a row for each record of a store, in SQLite, by case, commit and time.

The journals stay what is true. The index follows from them, and can be deleted at any time. It is brought up to date
when it is opened: files whose size or time of change is another, or that could not be read, are read again, the others
are not touched.

Why SQLite: it is in Python's standard library, one file, changes a part of itself without being written again, and lets
several sessions read while one writes. DuckDB and Parquet scan columns faster, but bring a large dependency, and a
Parquet file cannot be changed in part.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from pytest_ngraph.errors import StoreError
from pytest_ngraph.history import journals, summary
from pytest_ngraph.history.filling import File
from pytest_ngraph.history.row import SELECT, Row, row_of
from pytest_ngraph.history.schema import VERSION, create
from pytest_ngraph.record import Record
from pytest_ngraph.store import SUFFIX
from pytest_ngraph.store.lines import record_at
from pytest_ngraph.system.files import has_locks_of_parts
from pytest_ngraph.wording import counted

NAME = "index.sqlite"
WAIT_S = 60.0
"""How long to wait for another session that writes to the index."""
OUT_OF_REACH = ("readonly", "disk I/O")
"""What SQLite says of a file that cannot be written: in a store of somebody else; without locks, or beyond a quota."""


class Index:
    """The index of a store.

    Attributes:
        changed: how many files `update` has read.
    """

    def __init__(self, store: Path) -> None:
        """Open the index of a store, or make one. Where none can be written, it is kept in memory."""
        self._store = store
        self._path = store / NAME
        self._database = self._opened()
        self.changed = 0

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._database.close()

    def update(self) -> None:
        """Read the files that are new or have changed, and forget those that are gone.

        An index that turns out to be damaged is made again. Raises `StoreError` where it can neither be used nor made.
        """
        try:
            self._fill()
        except sqlite3.DatabaseError:
            self.rebuild()

    def rebuild(self) -> None:
        """Make the index again from all files of the store."""
        self.close()
        _remove(self._path)
        self._database = self._opened()
        self._fill()

    def cases(self) -> dict[str, dict[str, Any]]:
        """Return the parts of each case by its id."""
        found = self._database.execute("SELECT id, parts FROM cases ORDER BY id")
        return {case_id: json.loads(parts) for case_id, parts in found}

    def rows(
        self,
        case: str = "*",
        commit: str = "",
        since: float | None = None,
        until: float | None = None,
        run: str = "",
        *,
        anchored: bool = False,
    ) -> Iterator[Row]:
        """Yield records by case and time.

        Args:
            case: a pattern of case ids, as the shell has them (`resnet18-*`).
            commit: the first digits of a commit.
            since: seconds since the epoch, of the first record.
            until: seconds since the epoch, before which records began.
            run: a pattern of the ids of runs.
            anchored: only those that were measured beside an anchor.
        """
        limits: dict[str, object] = {
            "cases.id GLOB ?": case.replace("[", "[[]"),
            "records.started_at >= ?": since,
            "records.started_at < ?": until,
            "sessions.commit_id GLOB ?": f"{commit}*" if commit else None,
            "sessions.run GLOB ?": run or None,
            "sessions.anchor != ?": "" if anchored else None,
        }
        given = {text: value for text, value in limits.items() if value is not None}
        where = " AND ".join(given)
        query = f"{SELECT} WHERE {where} ORDER BY cases.id, records.started_at"
        for found in self._database.execute(query, tuple(given.values())):
            yield row_of(found)

    def record(self, row: Row) -> Record | None:
        """Return the record of a row, without reading the rest of its run; None where its samples are forgotten."""
        if row.offset is None:
            return None
        return record_at(self._store / row.file, row.offset, row.length)

    def facts(self, digest: str) -> dict[str, str]:
        """Return the facts of this digest."""
        found = self._database.execute("SELECT facts FROM facts WHERE digest = ?", (digest,)).fetchone()
        return dict(json.loads(found[0])) if found else {}

    def problems(self) -> dict[str, str]:
        """Return what cannot be read, by file."""
        return dict(self._database.execute("SELECT name, problem FROM files WHERE problem != '' ORDER BY name"))

    def unread(self) -> list[str]:
        """Return the files of which nothing can be read now, as long as that lasts."""
        return [name for (name,) in self._database.execute("SELECT name FROM files WHERE size IS NULL ORDER BY name")]

    def last_anchored(self) -> Row | None:
        """Return the last record of a history; None where there is none."""
        query = f"{SELECT} WHERE sessions.anchor != '' ORDER BY records.started_at DESC LIMIT 1"
        found = self._database.execute(query).fetchone()
        return row_of(found) if found else None

    def last_anchors(self, commit: str) -> dict[str, tuple[str, str]]:
        """Return the last anchor, by name and commit, of each case that has a ratio and none beside this anchor yet."""
        query = (
            "SELECT cases.id, anchor, anchor_commit, MAX(started_at) "  # of the record that has the maximum
            "FROM records JOIN cases ON number = case_number JOIN sessions ON sessions.id = session "
            "WHERE anchor != '' AND log_ratio IS NOT NULL AND case_number NOT IN ("
            "SELECT case_number FROM records JOIN sessions ON sessions.id = session WHERE anchor_commit = ?) "
            "GROUP BY case_number"
        )
        return {case: (name, earlier) for case, name, earlier, _ in self._database.execute(query, (commit,))}

    def links(self, commit: str, anchor_commit: str) -> set[str]:
        """Return the cases that have a ratio of this commit to this anchor."""
        query = (
            "SELECT DISTINCT cases.id "
            "FROM records JOIN cases ON number = case_number JOIN sessions ON sessions.id = session "
            "WHERE commit_id = ? AND anchor_commit = ? AND log_ratio IS NOT NULL"
        )
        return {case for (case,) in self._database.execute(query, (commit, anchor_commit))}

    def since_compared(self, case: str, branch: str = "") -> dict[str, float | None]:
        """Return cases whose last nights beside an anchor have no ratio, each with when it last had one, if ever."""
        query = (
            "SELECT cases.id, MAX(CASE WHEN log_ratio IS NOT NULL THEN started_at END) AS last "
            "FROM records JOIN cases ON number = case_number JOIN sessions ON sessions.id = session "
            "WHERE anchor != '' AND cases.id GLOB ? AND (branch IN ('', ?) OR ? = '') "
            "GROUP BY case_number HAVING last IS NULL OR last < MAX(started_at) ORDER BY cases.id"
        )
        return dict(self._database.execute(query, (case.replace("[", "[[]"), branch, branch)))

    def count(self) -> int:
        """Return the number of records."""
        return int(self._database.execute("SELECT count(*) FROM records").fetchone()[0])

    def _opened(self) -> sqlite3.Connection:
        if not has_locks_of_parts(self._store):  # SQLite would wait as for another session
            return _connected(None)
        try:
            return _connected(self._path)
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                with suppress(sqlite3.DatabaseError, OSError):
                    _remove(self._path)
                    return _connected(self._path)
        return _connected(None)  # a folder in which nothing can be written, or that is not there

    def _fill(self) -> None:
        """Bring the index up to date, in memory where the file cannot be used. Raises what shows that it is damaged."""
        try:
            self._update()
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                raise
            if not any(text in str(error) for text in OUT_OF_REACH):
                raise StoreError(f"the index {self._path} cannot be used: {error}. It can be deleted.") from error
            self.close()
            self._database, self.changed = _connected(None), 0
            self._update()

    def _update(self) -> None:
        found = {str(path.relative_to(self._store)): path for path in self._files()}
        known = {
            name: (size, time) for name, size, time in self._database.execute("SELECT name, size, mtime FROM files")
        }
        for name in known.keys() - found.keys():
            with self._transaction():
                self._forget(name)
        for name, path in found.items():
            with suppress(FileNotFoundError):  # a run that was removed since it was listed
                status = path.stat()
                if known.get(name) != (status.st_size, status.st_mtime_ns):
                    with self._transaction():
                        self._take(name, path, status.st_size, status.st_mtime_ns)
                    self.changed += 1

    def _files(self) -> list[Path]:
        """Return the journals and the summaries. Where both have a run, the journal counts."""
        runs = sorted(self._store.glob("*" + SUFFIX))
        names = {path.name for path in runs}
        return [*runs, *(path for path in summary.files(self._store) if path.name not in names)]

    def _forget(self, name: str) -> None:
        self._database.execute("DELETE FROM records WHERE session IN (SELECT id FROM sessions WHERE file = ?)", (name,))
        self._database.execute("DELETE FROM sessions WHERE file = ?", (name,))
        self._database.execute("DELETE FROM files WHERE name = ?", (name,))

    def _take(self, name: str, path: Path, size: int | None, mtime: int) -> None:
        """Add the records of a file. Each update tries one again that cannot be read."""
        self._forget(name)
        file = File(self._database, name)
        problem = ""
        damaged = 0
        try:
            if path.parent == self._store:
                for found in journals.read(path):
                    if isinstance(found, journals.Found):
                        file.add(found.origin, found.summary, found.offset, found.length)
                    else:
                        damaged += 1
            else:
                for each in summary.read(path):
                    if each is None:
                        damaged += 1
                    else:
                        file.add(*each, None, 0)
        except StoreError as error:
            problem, size = str(error), None
        if damaged and not problem:
            problem = counted(damaged, "damaged line")
        self._database.execute("INSERT INTO files VALUES (?, ?, ?, ?)", (name, size, mtime, problem))

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Change the index completely or not at all; other sessions wait until it is done."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.OperationalError):  # after some errors, SQLite has done so by itself
                self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")


def _connected(path: Path | None) -> sqlite3.Connection:
    """Return a connection to an index of this version; an index of another version is emptied."""
    database = sqlite3.connect(path or ":memory:", timeout=WAIT_S, isolation_level=None)
    try:
        with closing(database.execute("PRAGMA user_version")) as found:
            version = found.fetchone()[0]
        if version != VERSION:
            create(database)
    except BaseException:
        database.close()
        raise
    if path is not None:
        with suppress(OSError):
            path.chmod(0o600)
    return database


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether an index has to be made again, and is not only locked or out of reach."""
    return not isinstance(error, sqlite3.OperationalError) or "no such" in str(error)


def _remove(path: Path) -> None:
    for name in (path.name, f"{path.name}-journal"):
        path.with_name(name).unlink(missing_ok=True)
