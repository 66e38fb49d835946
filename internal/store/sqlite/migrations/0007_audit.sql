-- Registration Authority: the audit rows as a chain (package internal/audit). audit_id is the
-- row's seq, from 1 without gaps. The rows of before are chained by the program when it has
-- run this script, in the same transaction; from then on a row without a hash is none.

ALTER TABLE registry_audit ADD COLUMN prev TEXT NOT NULL DEFAULT '';
ALTER TABLE registry_audit ADD COLUMN entry_sha256 TEXT NOT NULL DEFAULT '';

-- What the authority has signed of its log, from time to time and for exports.
CREATE TABLE registry_audit_heads (
    seq          INTEGER PRIMARY KEY,
    entry_sha256 TEXT NOT NULL,
    head         TEXT NOT NULL,
    signed_at    INTEGER NOT NULL
) STRICT;

-- When a confirm of what is held was first refused for good (§5.4): the attempt has failed, and
-- what it had taken is burned (GC-199).
ALTER TABLE holds ADD COLUMN burned_at INTEGER;

-- Centre: how many crossings are in which state, for metrics.
CREATE INDEX crossings_by_state ON crossings (role, state);
