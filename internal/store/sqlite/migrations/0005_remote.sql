-- Registration Authorities elsewhere (designs R1, R4).

-- The Registration Authority that speaks for a principal, pinned by an enrolment code. Such
-- a principal is here a counterparty: it has agents and an effector, and no mandates.
CREATE TABLE peer_registries (
    principal_id TEXT PRIMARY KEY REFERENCES principals,
    kid          TEXT NOT NULL,
    jwk          BLOB NOT NULL,
    url          TEXT NOT NULL,
    pinned_at    INTEGER NOT NULL
) STRICT;

-- The latest signed answer of an authority elsewhere about a Closed that an attempt of this
-- party has named: where the flags of a refusal come from.
CREATE TABLE spend_answers (
    crossing_id  TEXT NOT NULL,
    token_sha256 TEXT NOT NULL,
    statement    TEXT NOT NULL,
    spent        INTEGER NOT NULL CHECK (spent IN (0, 1)),
    answered_at  INTEGER NOT NULL,
    PRIMARY KEY (crossing_id, token_sha256)
) STRICT;

-- The receipt of the initiator's authority, where it is another than the responder's.
ALTER TABLE seals ADD COLUMN initiator_receipt TEXT NOT NULL DEFAULT '';
