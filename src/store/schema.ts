/**
 * Version 1 of the file. `event.surface_order` is set for messages only; the surface is what is not shadowed, in this order, and
 * nothing is ever renumbered. `control`, `facts` and the like are JSON. Bodies stand apart, so that they can be encoded and erased.
 */
export const SCHEMA = `
CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL UNIQUE,
  workflow_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  life_run_id TEXT NOT NULL,
  fence INTEGER NOT NULL,
  control TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_newest ON session (updated_at);

CREATE TABLE life (
  session INTEGER NOT NULL,
  life INTEGER NOT NULL,
  life_run_id TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  PRIMARY KEY (session, life)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
  session INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  workflow_id TEXT NOT NULL,
  life INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  taken_at INTEGER NOT NULL,
  PRIMARY KEY (session, run_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  key TEXT NOT NULL,
  type TEXT NOT NULL,
  turn INTEGER,
  step INTEGER,
  time INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  facts TEXT,
  surface_op TEXT,
  source_seqs TEXT,
  surface_order INTEGER,
  shadowed_by INTEGER,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX event_key ON event (session, key);
CREATE INDEX event_type ON event (session, type);
CREATE INDEX event_turn ON event (session, turn) WHERE turn IS NOT NULL;
CREATE INDEX event_surface ON event (session, surface_order) WHERE shadowed_by IS NULL AND surface_order IS NOT NULL;
CREATE INDEX event_shadowed ON event (session, shadowed_by) WHERE shadowed_by IS NOT NULL;

CREATE TABLE body (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  body ANY NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT;

CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  compaction_id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('open', 'ended', 'void')),
  life INTEGER NOT NULL,
  input TEXT NOT NULL,
  plan TEXT,
  start_seq INTEGER,
  summary ANY,
  outcome TEXT,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  UNIQUE (session, compaction_id)
) STRICT;
CREATE UNIQUE INDEX attempt_open ON attempt (session) WHERE state = 'open';

CREATE TABLE inbox (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('prompt', 'compaction')),
  delivery TEXT,
  fingerprint TEXT NOT NULL,
  body ANY NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'refused')),
  turn INTEGER,
  accepted_at INTEGER NOT NULL,
  outcome TEXT,
  UNIQUE (session, request_id)
) STRICT;
CREATE INDEX inbox_state ON inbox (session, state);

CREATE TABLE delta (
  session INTEGER NOT NULL,
  key TEXT NOT NULL,
  position INTEGER NOT NULL,
  body ANY NOT NULL,
  PRIMARY KEY (session, key, position)
) STRICT;

CREATE TABLE reading (
  session INTEGER PRIMARY KEY,
  meter TEXT NOT NULL
) STRICT;
`

/** Version 2: requests of kind `control` in the inbox. A CHECK can only be changed by a copy of its table. */
export const CONTROL_REQUESTS = `
CREATE TABLE inbox_2 (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL,
  request_id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('prompt', 'compaction', 'control')),
  delivery TEXT,
  fingerprint TEXT NOT NULL,
  body ANY NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'done', 'refused')),
  turn INTEGER,
  accepted_at INTEGER NOT NULL,
  outcome TEXT,
  UNIQUE (session, request_id)
) STRICT;
INSERT INTO inbox_2 SELECT * FROM inbox;
DROP TABLE inbox;
ALTER TABLE inbox_2 RENAME TO inbox;
CREATE INDEX inbox_state ON inbox (session, state);
`
