-- Envelopes that agents emit, how each was resolved, and what was discarded (package envelope).
-- Names hold a percent sign, a NUL and what is not UTF-8 as %25, %00 and so on.

-- One row for each digest that was ever emitted; it is never deleted (ENV-115). The words of a
-- resolved envelope may go, and of an answer there is a digest alone (ENV-113).
CREATE TABLE envelopes (
    digest            TEXT PRIMARY KEY,
    agent             TEXT NOT NULL,
    session           TEXT NOT NULL, -- '' for none
    decision_class    TEXT NOT NULL, -- '' for none
    noted             BIGINT NOT NULL CHECK (noted IN (0, 1)), -- it carries a calibration note
    closed            BIGINT NOT NULL CHECK (closed IN (0, 1)), -- it closes a hatch
    emitted_at        BIGINT NOT NULL,
    envelope          BYTEA,          -- canonical
    sidecar           BYTEA NOT NULL, -- canonical: actions, evidence, reasons; no word of the envelope
    resolution_digest TEXT,
    kind              TEXT CHECK (kind IN ('option', 'answer', 'question')),
    option_idx        BIGINT,
    answer_digest     TEXT,
    resolved_by       TEXT,
    assurance         TEXT CHECK (assurance IN ('client', 'tty-passphrase', 'passkey-uv')),
    resolved_at       BIGINT,
    CHECK ((kind IS NULL) = (resolved_at IS NULL)),
    CHECK ((resolution_digest IS NULL) = (resolved_at IS NULL)),
    CHECK (envelope IS NOT NULL OR resolved_at IS NOT NULL),
    CHECK (resolved_at IS NULL OR (option_idx IS NOT NULL) = (kind = 'option')),
    CHECK (resolved_at IS NULL OR (answer_digest IS NOT NULL) = (kind = 'answer'))
);
CREATE INDEX envelopes_agent_emitted ON envelopes (agent, emitted_at);
CREATE INDEX envelopes_class_emitted ON envelopes (decision_class, emitted_at);
CREATE INDEX envelopes_agent_resolved ON envelopes (agent, resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX envelopes_class_resolved ON envelopes (decision_class, resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX envelopes_worded ON envelopes (resolved_at) WHERE resolved_at IS NOT NULL AND envelope IS NOT NULL;

-- Every hatch that was closed, and why (ENV-045, ENV-108).
CREATE TABLE envelope_closures (
    agent          TEXT NOT NULL,
    emitted_at     BIGINT NOT NULL,
    digest         TEXT NOT NULL REFERENCES envelopes,
    hatch          TEXT NOT NULL CHECK (hatch IN ('free_text', 'dialogue')),
    reason         TEXT NOT NULL,
    PRIMARY KEY (agent, emitted_at, digest, hatch)
);

-- The latest refused resolutions of each agent: digests, and no text.
CREATE TABLE envelope_discards (
    agent           TEXT NOT NULL,
    number          BIGINT NOT NULL,
    name            TEXT NOT NULL,
    envelope_digest TEXT, -- that it names; no key: it may name none
    text_digest     TEXT NOT NULL,
    discarded_by    TEXT NOT NULL,
    discarded_at    BIGINT NOT NULL,
    PRIMARY KEY (agent, number)
);
