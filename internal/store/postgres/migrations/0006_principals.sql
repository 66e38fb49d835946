-- Registration Authority: when keys may sign, humans' keys that wait for an operator, domains.
-- Times and hashes as in 0001.

-- NULL is no bound. A key signs from not_before on, until just before not_after.
ALTER TABLE principal_keys ADD COLUMN not_before BIGINT;
ALTER TABLE principal_keys ADD COLUMN not_after BIGINT;

-- An agent may have several keys, one after the other, and is still one principal's.
CREATE TABLE principal_agents (
    agent_id     TEXT PRIMARY KEY,
    principal_id TEXT NOT NULL REFERENCES principals
);
INSERT INTO principal_agents (agent_id, principal_id) SELECT subject, principal_id FROM principal_keys WHERE use = 'agent';
DROP INDEX principal_keys_agent;

-- The key of a human signs nothing before an operator has approved it (T2).
CREATE TABLE human_requests (
    principal_id TEXT NOT NULL REFERENCES principals,
    kid          TEXT NOT NULL,
    human_id     TEXT NOT NULL,
    jwk          BYTEA NOT NULL,
    not_before   BIGINT,
    not_after    BIGINT,
    state        TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'rejected')),
    requested_at BIGINT NOT NULL,
    decided_at   BIGINT,
    PRIMARY KEY (principal_id, kid)
);
CREATE INDEX human_requests_pending ON human_requests (requested_at) WHERE state = 'pending';

-- The domain that publishes a principal's issuer keys; domain_proved_at is NULL again when
-- there is a key that it was not seen to publish.
ALTER TABLE principals ADD COLUMN domain TEXT;
ALTER TABLE principals ADD COLUMN domain_proved_at BIGINT;
CREATE INDEX principals_domain ON principals (domain_proved_at) WHERE domain IS NOT NULL;
