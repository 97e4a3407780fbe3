"""The tables of the index."""

from __future__ import annotations

import sqlite3

VERSION = 3
"""Version of the tables and of what is computed for them. An index of another version is made again."""

TABLES = ("files", "facts", "cases", "sessions", "records")
SCHEMA = """
CREATE TABLE files (name TEXT PRIMARY KEY, size INTEGER, mtime INTEGER, problem TEXT) WITHOUT ROWID;
CREATE TABLE facts (digest TEXT PRIMARY KEY, facts TEXT) WITHOUT ROWID;
CREATE TABLE cases (number INTEGER PRIMARY KEY, id TEXT UNIQUE, parts TEXT);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, file TEXT, run TEXT, commit_id TEXT, branch TEXT, anchor TEXT, anchor_commit TEXT,
    libraries TEXT, machine TEXT
);
CREATE INDEX sessions_by_file ON sessions (file);
CREATE INDEX sessions_by_commit ON sessions (commit_id);
CREATE TABLE records (
    case_number INTEGER, session INTEGER, started_at REAL, outcome TEXT, against TEXT,
    latency REAL, latency_low REAL, latency_high REAL,
    log_ratio REAL, error REAL, ratio_low REAL, ratio_high REAL,
    offset INTEGER, length INTEGER, PRIMARY KEY (case_number, session)
) WITHOUT ROWID;
CREATE INDEX records_by_session ON records (session);
CREATE INDEX records_by_time ON records (started_at);
"""


def create(database: sqlite3.Connection) -> None:
    """Make the tables, in place of those of another version."""
    database.execute("BEGIN IMMEDIATE")
    if database.execute("PRAGMA user_version").fetchone()[0] != VERSION:  # another session may just have made them
        for name in TABLES:
            database.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in filter(str.strip, SCHEMA.split(";")):
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {VERSION}")
    database.execute("COMMIT")
