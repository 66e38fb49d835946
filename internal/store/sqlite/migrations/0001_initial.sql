-- Times are integer milliseconds since the Unix epoch, from the application's clock.
-- Hashes are bare lower-case hex text. JSON and tokens are kept as the exact bytes received.

-- Registration Authority -------------------------------------------------------------------------

CREATE TABLE principals (
    principal_id      TEXT PRIMARY KEY,
    name              TEXT NOT NULL,
    status            TEXT NOT NULL CHECK (status IN ('active', 'suspended')),
    clearance_id_hash TEXT NOT NULL,
    trust_basis       TEXT NOT NULL,
    agc_level         INTEGER NOT NULL CHECK (agc_level >= 0),
    created_at        INTEGER NOT NULL
) STRICT;

-- One row a key: the principal's issuer keys, its agents' keys (cnf), its humans' keys.
CREATE TABLE principal_keys (
    kid          TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals,
    use          TEXT NOT NULL CHECK (use IN ('principal', 'agent', 'human')),
    subject      TEXT NOT NULL,
    jwk          BLOB NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX principal_keys_by_principal ON principal_keys (principal_id);
CREATE UNIQUE INDEX principal_keys_agent ON principal_keys (subject) WHERE use = 'agent';

-- One credential, one role (design R1). Only the hash of a credential is kept.
CREATE TABLE credentials (
    credential_sha256 TEXT PRIMARY KEY,
    role              TEXT NOT NULL CHECK (role IN ('principal', 'agent', 'issuer', 'effector', 'operator')),
    principal_id      TEXT NOT NULL REFERENCES principals,
    agent_id          TEXT,
    created_at        INTEGER NOT NULL,
    revoked_at        INTEGER
) STRICT;

-- One-time codes, of the RA and of the VA. answer is what the code's one use was answered with.
CREATE TABLE enrolment_codes (
    secret_sha256  TEXT PRIMARY KEY,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    used_at        INTEGER,
    request_sha256 TEXT,
    answer         BLOB
) STRICT;

CREATE TABLE opens (
    open_mandate_hash TEXT PRIMARY KEY,
    token_sha256      TEXT NOT NULL UNIQUE,
    signed_sha256     TEXT NOT NULL UNIQUE,
    principal_id      TEXT NOT NULL REFERENCES principals,
    agent_id          TEXT NOT NULL,
    class             TEXT NOT NULL,
    magnitude_limit   INTEGER NOT NULL CHECK (magnitude_limit >= 0),
    currency          TEXT,
    drawn             INTEGER NOT NULL DEFAULT 0 CHECK (drawn >= 0),
    expires_at        INTEGER NOT NULL,
    revoked_at        INTEGER,
    token             TEXT NOT NULL,
    receipt           TEXT NOT NULL,
    registered_at     INTEGER NOT NULL,
    CHECK (drawn <= magnitude_limit OR (class = 'observe' AND magnitude_limit = 0))
) STRICT;
CREATE INDEX opens_by_agent ON opens (agent_id);

-- A Closed is consumed whole by a hold; consumed is a state, not arithmetic (AG-20).
CREATE TABLE closeds (
    token_sha256       TEXT PRIMARY KEY,
    signed_sha256      TEXT NOT NULL UNIQUE,
    open_mandate_hash  TEXT NOT NULL REFERENCES opens,
    principal_id       TEXT NOT NULL REFERENCES principals,
    agent_id           TEXT NOT NULL,
    counterparty_agent TEXT NOT NULL,
    chain_id           TEXT NOT NULL,
    crossing_id        TEXT NOT NULL,
    magnitude_limit    INTEGER NOT NULL CHECK (magnitude_limit >= 0),
    state              TEXT NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'consumed', 'released')),
    expires_at         INTEGER NOT NULL,
    revoked_at         INTEGER,
    receipt            TEXT NOT NULL,
    registered_at      INTEGER NOT NULL
) STRICT;
CREATE INDEX closeds_by_open ON closeds (open_mandate_hash);
CREATE INDEX closeds_by_crossing ON closeds (crossing_id);

-- held -> spent | released, both terminal (design R3). The row decides, not the effector.
CREATE TABLE holds (
    crossing_id     TEXT NOT NULL,
    initiator_token TEXT NOT NULL UNIQUE REFERENCES closeds,
    responder_token TEXT NOT NULL UNIQUE REFERENCES closeds,
    effector        TEXT NOT NULL REFERENCES principals,
    state           TEXT NOT NULL CHECK (state IN ('held', 'spent', 'released')),
    held_receipt    TEXT NOT NULL,
    final_receipt   TEXT,
    held_at         INTEGER NOT NULL,
    decided_at      INTEGER,
    PRIMARY KEY (crossing_id, initiator_token, responder_token)
) STRICT;

CREATE TABLE registry_audit (
    audit_id     INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    role         TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    operation    TEXT NOT NULL,
    subject      TEXT NOT NULL,
    outcome      TEXT NOT NULL
) STRICT;

-- Centre -----------------------------------------------------------------------------------------

-- The Opens that this directory's agent may present. drawn is a hint for choosing; the RA decides.
CREATE TABLE grants (
    open_mandate_hash TEXT PRIMARY KEY,
    presented         TEXT NOT NULL,
    disclosure        TEXT NOT NULL,
    receipt           TEXT NOT NULL,
    drawn             INTEGER NOT NULL DEFAULT 0,
    expires_at        INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    revoked_at        INTEGER
) STRICT;

-- A crossing as one party sees it. session_id is the task id for a responder and the
-- crossing_id for an initiator. version guards every change (compare-and-swap).
CREATE TABLE crossings (
    session_id           TEXT PRIMARY KEY,
    role                 TEXT NOT NULL CHECK (role IN ('initiator', 'responder')),
    version              INTEGER NOT NULL,
    task_id              TEXT NOT NULL,
    context_id           TEXT NOT NULL,
    crossing_id          TEXT UNIQUE,
    state                TEXT NOT NULL,
    peer_url             TEXT NOT NULL,
    intended_class       TEXT NOT NULL,
    intended_act         TEXT NOT NULL,
    own_party            BLOB,
    peer_party           BLOB,
    own_open             TEXT NOT NULL,
    own_disclosure       TEXT NOT NULL,
    peer_open            TEXT NOT NULL,
    terms                BLOB,
    agreement_hash       TEXT NOT NULL,
    amount               BLOB,
    own_closed           TEXT NOT NULL,
    own_receipt          TEXT NOT NULL,
    peer_closed          TEXT NOT NULL,
    peer_receipt         TEXT NOT NULL,
    peer_disclosures     BLOB,
    mandates_verified_at INTEGER,
    terms_agreed_at      INTEGER,
    artifact_id          TEXT NOT NULL,
    refusal              BLOB,
    report               BLOB,
    created_at           INTEGER NOT NULL,
    updated_at           INTEGER NOT NULL
) STRICT;

CREATE INDEX crossings_unfinished ON crossings (updated_at) WHERE role = 'initiator' AND state = 'sealing' AND report IS NULL;

-- Every record an initiator has sent for a crossing, with the exact sealing bytes (design C5).
CREATE TABLE sent_records (
    crossing_id TEXT NOT NULL,
    joint_seal  TEXT NOT NULL,
    record      BLOB NOT NULL,
    params      BLOB NOT NULL,
    sent_at     INTEGER NOT NULL,
    PRIMARY KEY (crossing_id, joint_seal)
) STRICT;

-- One attempt a joint seal; at most one open attempt a crossing (design R4).
CREATE TABLE attempts (
    crossing_id     TEXT NOT NULL,
    joint_seal      TEXT NOT NULL,
    record          BLOB NOT NULL,
    params          BLOB NOT NULL,
    state           TEXT NOT NULL CHECK (state IN ('open', 'sealed', 'refused')),
    refusal         BLOB,
    initiator_spent INTEGER NOT NULL DEFAULT 0,
    responder_spent INTEGER NOT NULL DEFAULT 0,
    opened_at       INTEGER NOT NULL,
    decided_at      INTEGER,
    PRIMARY KEY (crossing_id, joint_seal)
) STRICT;
CREATE UNIQUE INDEX attempts_one_open ON attempts (crossing_id) WHERE state = 'open';

CREATE TABLE nonces (
    crossing_id  TEXT NOT NULL,
    iss          TEXT NOT NULL,
    nonce        TEXT NOT NULL,
    token_sha256 TEXT NOT NULL,
    PRIMARY KEY (crossing_id, iss, nonce)
) STRICT;

-- Heads change by compare-and-swap, in a party's commit only; anchors prove it by their keys.
CREATE TABLE chain_heads (
    party    TEXT NOT NULL,
    chain_id TEXT NOT NULL,
    next_seq INTEGER NOT NULL CHECK (next_seq > 0),
    anchor   TEXT NOT NULL,
    PRIMARY KEY (party, chain_id)
) STRICT;

CREATE TABLE anchors (
    party       TEXT NOT NULL,
    chain_id    TEXT NOT NULL,
    chain_seq   INTEGER NOT NULL CHECK (chain_seq >= 0),
    prev_hash   TEXT,
    joint_seal  TEXT NOT NULL,
    anchor      TEXT NOT NULL,
    crossing_id TEXT NOT NULL,
    written_at  INTEGER NOT NULL,
    PRIMARY KEY (party, chain_id, chain_seq),
    UNIQUE (party, crossing_id),
    CHECK ((chain_seq = 0) = (prev_hash IS NULL))
) STRICT;
CREATE UNIQUE INDEX anchors_by_anchor ON anchors (party, anchor);

-- A seal with the stored answer: a repeat gets these bytes (WC-3).
CREATE TABLE seals (
    crossing_id   TEXT PRIMARY KEY,
    joint_seal    TEXT NOT NULL UNIQUE,
    seal_id       TEXT NOT NULL UNIQUE,
    record        BLOB NOT NULL,
    response      BLOB NOT NULL,
    block         BLOB NOT NULL,
    spend_receipt TEXT NOT NULL,
    sealed_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE refusals (
    refusal_id      INTEGER PRIMARY KEY,
    name            TEXT NOT NULL,
    crossing_id     TEXT,
    at              INTEGER NOT NULL,
    failure_path    TEXT NOT NULL,
    counterparty    TEXT NOT NULL,
    initiator_spent INTEGER NOT NULL,
    responder_spent INTEGER NOT NULL,
    detail          TEXT NOT NULL
) STRICT;
CREATE INDEX refusals_by_crossing ON refusals (crossing_id);
CREATE INDEX refusals_by_counterparty ON refusals (counterparty, name, at);

-- Publications wait here until the Verification Authority has acknowledged them (design C7).
CREATE TABLE outbox (
    outbox_id       INTEGER PRIMARY KEY,
    role            TEXT NOT NULL CHECK (role IN ('initiator', 'responder')),
    crossing_id     TEXT NOT NULL,
    chain_id        TEXT NOT NULL,
    chain_seq       INTEGER NOT NULL,
    payload         BLOB NOT NULL,
    created_at      INTEGER NOT NULL,
    acknowledged_at INTEGER,
    tries           INTEGER NOT NULL DEFAULT 0,
    last_error      TEXT NOT NULL DEFAULT '',
    UNIQUE (role, crossing_id)
) STRICT;
CREATE INDEX outbox_waiting ON outbox (outbox_id) WHERE acknowledged_at IS NULL;

-- Verification Authority -------------------------------------------------------------------------

CREATE TABLE trusted_registries (
    kid       TEXT PRIMARY KEY,
    jwk       BLOB NOT NULL,
    pinned_at INTEGER NOT NULL
) STRICT;

CREATE TABLE publishers (
    credential_sha256 TEXT PRIMARY KEY,
    principal_id      TEXT NOT NULL,
    jwk               BLOB NOT NULL,
    registry_kid      TEXT NOT NULL REFERENCES trusted_registries,
    registered_at     INTEGER NOT NULL
) STRICT;

-- First writer of (crossing_id, role) wins (design V4). answer is the publisher's acknowledgement.
CREATE TABLE projections (
    crossing_id     TEXT NOT NULL,
    role            TEXT NOT NULL CHECK (role IN ('initiator', 'responder')),
    seal_id         TEXT NOT NULL,
    joint_seal      TEXT NOT NULL,
    principal_id    TEXT NOT NULL,
    initiator_agent TEXT NOT NULL,
    responder_agent TEXT NOT NULL,
    chain_id        TEXT NOT NULL,
    chain_seq       INTEGER NOT NULL,
    prev_hash       TEXT,
    anchor          TEXT NOT NULL,
    projection      BLOB NOT NULL,
    projection_jws  TEXT NOT NULL,
    publisher_jws   TEXT NOT NULL,
    receipts        BLOB NOT NULL,
    answer          BLOB NOT NULL,
    stored_at       INTEGER NOT NULL,
    PRIMARY KEY (crossing_id, role),
    UNIQUE (principal_id, chain_id, chain_seq)
) STRICT;
CREATE UNIQUE INDEX projections_seal ON projections (seal_id) WHERE role = 'responder';

CREATE TABLE publication_refusals (
    refusal_id   INTEGER PRIMARY KEY,
    at           INTEGER NOT NULL,
    principal_id TEXT NOT NULL,
    crossing_id  TEXT NOT NULL,
    role         TEXT NOT NULL,
    code         TEXT NOT NULL,
    body_sha256  TEXT NOT NULL,
    UNIQUE (crossing_id, role, principal_id, body_sha256)
) STRICT;
