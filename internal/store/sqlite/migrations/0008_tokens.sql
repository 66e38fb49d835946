-- Registration Authority: the bytes of an Open apart from its row, which every draw writes.

CREATE TABLE open_tokens (
    open_mandate_hash TEXT PRIMARY KEY REFERENCES opens,
    token             TEXT NOT NULL
) STRICT;
INSERT INTO open_tokens (open_mandate_hash, token) SELECT open_mandate_hash, token FROM opens;
ALTER TABLE opens DROP COLUMN token;
