-- Registration Authority: what signs is revoked for good, and status lists. Times and hashes
-- as in 0001.

-- One row for each name that was revoked: a key by its thumbprint, a principal by its
-- identifier, a human by "human " and its identifier. A mandate is revoked with any name that its row bears. The row with
-- subject '' says that some key of the principal was revoked: it meets the mandates of
-- before this script, whose rows do not say which key has signed them.
CREATE TABLE revocations (
    principal_id TEXT NOT NULL REFERENCES principals,
    subject      TEXT NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('key', 'human', 'principal', 'some key')),
    revoked_at   BIGINT NOT NULL,
    PRIMARY KEY (principal_id, subject)
);

ALTER TABLE opens ADD COLUMN signer_kid TEXT NOT NULL DEFAULT '';
ALTER TABLE opens ADD COLUMN cnf_kid TEXT;
ALTER TABLE closeds ADD COLUMN signer_kid TEXT NOT NULL DEFAULT '';

-- A status list has a fixed number of entries, of which Opens take less than half, each at an
-- index drawn at random. seed chooses the decoys among the others; taken bounds the Opens.
CREATE TABLE status_lists (
    list_id    TEXT PRIMARY KEY,
    seed       BYTEA NOT NULL,
    taken      BIGINT NOT NULL DEFAULT 0 CHECK (taken >= 0),
    created_at BIGINT NOT NULL
);

ALTER TABLE opens ADD COLUMN status_list TEXT REFERENCES status_lists;
ALTER TABLE opens ADD COLUMN status_index BIGINT;
CREATE UNIQUE INDEX opens_by_status ON opens (status_list, status_index) WHERE status_list IS NOT NULL;
