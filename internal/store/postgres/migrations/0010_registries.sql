-- Registration Authorities elsewhere: what a code is for, for whom an authority speaks that has
-- joined the Verification Authority, and the end of a pin (designs R1, R6).

-- A code admits a party or pins an authority; 'any' leaves that to whoever uses it. 'shared'
-- pins one that speaks for whomever it registers, and not for its principal alone. With a
-- principal_id it is for that principal alone.
ALTER TABLE enrolment_codes ADD COLUMN kind TEXT NOT NULL DEFAULT 'any' CHECK (kind IN ('any', 'party', 'registry', 'shared'));
ALTER TABLE enrolment_codes ADD COLUMN principal_id TEXT;

-- An authority that is not pinned any more keeps its row: nobody else speaks for its principal.
ALTER TABLE peer_registries ADD COLUMN unpinned_at BIGINT;
ALTER TABLE trusted_registries ADD COLUMN unpinned_at BIGINT;

-- For whom an authority speaks that was pinned by a code of the Verification Authority.
CREATE TABLE registry_bindings (
    principal_id TEXT PRIMARY KEY,
    kid          TEXT NOT NULL REFERENCES trusted_registries,
    url          TEXT NOT NULL,
    shared       BIGINT NOT NULL CHECK (shared IN (0, 1)), -- it speaks for others, too
    bound_at     BIGINT NOT NULL
);
CREATE INDEX registry_bindings_kid ON registry_bindings (kid);
