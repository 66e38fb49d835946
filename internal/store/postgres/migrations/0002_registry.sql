-- Registration Authority: units of Opens, service issuers. Times and hashes as in 0001.

-- An Open that permits no counterparty is never shown to one. Older rows are taken to be
-- shown: then only their own principal's effector may consume units of them.
ALTER TABLE opens ADD COLUMN single_party BIGINT NOT NULL DEFAULT 0 CHECK (single_party IN (0, 1));

-- Units taken from an Open's one counter, opens.drawn (AG-21). answer is what the request was
-- answered with, and is answered with again. Nothing deletes a row or lowers the counter.
CREATE TABLE unit_consumptions (
    effector          TEXT NOT NULL REFERENCES principals,
    request_id        TEXT NOT NULL,
    request_sha256    TEXT NOT NULL,
    open_mandate_hash TEXT NOT NULL REFERENCES opens,
    units             BIGINT NOT NULL CHECK (units > 0),
    answer            BYTEA NOT NULL,
    consumed_at       BIGINT NOT NULL,
    burned_at         BIGINT,
    PRIMARY KEY (effector, request_id)
);
CREATE INDEX unit_consumptions_by_open ON unit_consumptions (open_mandate_hash);

-- Whom a service issuer may issue for. No effector spends a mandate of such a subject, with
-- or without its token (§3.7.2 rule 2). Rows are only ever added.
CREATE TABLE issuer_subjects (
    credential_sha256 TEXT NOT NULL REFERENCES credentials,
    subject           TEXT NOT NULL,
    listed_at         BIGINT NOT NULL,
    PRIMARY KEY (credential_sha256, subject)
);
CREATE INDEX issuer_subjects_by_subject ON issuer_subjects (subject);

CREATE INDEX credentials_by_principal ON credentials (principal_id);
