-- Gateway: executions, the lives of its replicas, and its log (design X2-X4).

CREATE TABLE executions (
    agent_id         TEXT NOT NULL,
    execution_id     TEXT NOT NULL,
    version          BIGINT NOT NULL, -- every write is a compare-and-swap on it
    state            TEXT NOT NULL CHECK (state IN ('held', 'reserved', 'dispatched', 'suspended', 'succeeded', 'failed', 'refused', 'outcome_unknown')),
    binding          TEXT NOT NULL,
    preimage         BYTEA NOT NULL,
    action_timestamp TEXT NOT NULL,
    upstream         TEXT NOT NULL,
    tool             TEXT NOT NULL,
    session_id       TEXT,
    workflow_id      TEXT,
    timeout_ms       BIGINT NOT NULL,
    owner            TEXT,             -- with epoch: of a reserved or dispatched row; NULL: nobody
    epoch            BIGINT NOT NULL,
    call_id          TEXT NOT NULL,    -- of the last attempt
    first_call_id    TEXT,             -- of the one that was dispatched first
    created_at       BIGINT NOT NULL,
    touched_at       BIGINT NOT NULL,
    dispatched_at    BIGINT,
    completed_at     BIGINT,
    request_state    TEXT,
    continued        TEXT,
    inputs           TEXT,
    task_id          TEXT,
    digest           TEXT,
    answer           BYTEA,
    is_error         BIGINT NOT NULL,
    reason           TEXT,
    ended            BIGINT NOT NULL,
    late             TEXT,
    PRIMARY KEY (agent_id, execution_id)
);
CREATE INDEX executions_owned ON executions (owner, epoch) WHERE state IN ('reserved', 'dispatched');
CREATE INDEX executions_unknown ON executions (agent_id, execution_id) WHERE state = 'outcome_unknown';
CREATE INDEX executions_answered ON executions (completed_at) WHERE answer IS NOT NULL;

-- A heartbeat is on the database's clock. What is dead stays dead.
CREATE TABLE execution_epochs (
    owner      TEXT NOT NULL,
    epoch      BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    beat_at    BIGINT NOT NULL,
    dead_at    BIGINT,
    PRIMARY KEY (owner, epoch)
);
CREATE INDEX execution_epochs_alive ON execution_epochs (beat_at) WHERE dead_at IS NULL;

CREATE TABLE execution_findings (
    agent_id        TEXT NOT NULL,
    execution_id    TEXT NOT NULL,
    number          BIGINT NOT NULL, -- from 1
    outcome         TEXT NOT NULL,
    source          TEXT NOT NULL,
    evidence_sha256 TEXT NOT NULL,
    found_at        BIGINT NOT NULL,
    signed          TEXT NOT NULL,
    PRIMARY KEY (agent_id, execution_id, number),
    UNIQUE (agent_id, execution_id, outcome, source, evidence_sha256)
);

-- line is the whole entry (package internal/audit); the columns before it find it.
CREATE TABLE gateway_audit (
    seq          BIGINT PRIMARY KEY,
    entry_sha256 TEXT NOT NULL,
    agent_id     TEXT,
    execution_id TEXT,
    line         BYTEA NOT NULL
);
CREATE INDEX gateway_audit_executions ON gateway_audit (agent_id, execution_id, seq) WHERE execution_id IS NOT NULL;

CREATE TABLE gateway_audit_heads (
    seq          BIGINT PRIMARY KEY,
    entry_sha256 TEXT NOT NULL,
    head         TEXT NOT NULL,
    signed_at    BIGINT NOT NULL
);
