-- Executions by the states that are rare or want somebody's attention, so that a list of them does
-- not look at all that have succeeded (design X4).

DROP INDEX executions_unknown;
CREATE INDEX executions_apart ON executions (state, agent_id, execution_id) WHERE state NOT IN ('reserved', 'dispatched', 'succeeded');
