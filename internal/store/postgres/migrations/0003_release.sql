-- Registration Authority: release (design R3), and Closeds of which each party's RA keeps its
-- own (design R4). Times and hashes as in 0001.

-- What the Closed took from its Open, which a release gives back. Of older rows it is not
-- known, since a narrower class took nothing: they give nothing back.
ALTER TABLE closeds ADD COLUMN draw BIGINT NOT NULL DEFAULT 0 CHECK (draw >= 0);
-- Set when a hold was refused as expired, which is signed as final, and stays.
ALTER TABLE closeds ADD COLUMN refused_at BIGINT;
CREATE INDEX closeds_lapsing ON closeds (expires_at) WHERE state = 'active';

-- half names the one Closed of the triple that is this RA's, '' both of them; the other token
-- is then nobody's here. An unconfirmed hold may be released from lapses_at on. refused_at is
-- set when a confirm was refused as expired, and stays. refusal is the other RA's word by
-- which a spent half was released.
CREATE TABLE holds_by_half (
    crossing_id     TEXT NOT NULL,
    initiator_token TEXT NOT NULL,
    responder_token TEXT NOT NULL,
    half            TEXT NOT NULL CHECK (half IN ('', 'initiator', 'responder')),
    effector        TEXT NOT NULL REFERENCES principals,
    state           TEXT NOT NULL CHECK (state IN ('held', 'spent', 'released')),
    held_receipt    TEXT NOT NULL,
    final_receipt   TEXT,
    held_at         BIGINT NOT NULL,
    lapses_at       BIGINT NOT NULL,
    refused_at      BIGINT,
    decided_at      BIGINT,
    refusal         TEXT,
    PRIMARY KEY (crossing_id, initiator_token, responder_token),
    CHECK ((state = 'held') = (final_receipt IS NULL))
);
INSERT INTO holds_by_half (crossing_id, initiator_token, responder_token, half, effector, state,
    held_receipt, final_receipt, held_at, lapses_at, decided_at)
  SELECT crossing_id, initiator_token, responder_token, '', effector, state,
    held_receipt, final_receipt, held_at, held_at + 60000, decided_at FROM holds;
DROP TABLE holds;
ALTER TABLE holds_by_half RENAME TO holds;
CREATE UNIQUE INDEX holds_initiator ON holds (initiator_token) WHERE half <> 'responder';
CREATE UNIQUE INDEX holds_responder ON holds (responder_token) WHERE half <> 'initiator';
CREATE INDEX holds_lapsing ON holds (lapses_at) WHERE state = 'held';
