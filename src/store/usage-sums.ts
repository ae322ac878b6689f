/** One paid call of the log as a line of a ledger; the rules are those of `usedCall` as they were in version 3. Bodies that are encoded are passed over. */
const CALLS = `
SELECT event.session AS session, data ->> '$.compactionId' AS compaction_id, data ->> '$.provider' AS provider, data ->> '$.model' AS model,
  CASE WHEN type = 'assistant/message' THEN 'turn'
    WHEN data -> '$.accepted' = 'false' OR key GLOB '*.lost.*' THEN 'discarded'
    WHEN data ->> '$.purpose' = 'retry' THEN 'retry' ELSE 'summary' END AS purpose,
  data ->> '$.usage' IS NULL AS unknown,
  coalesce(data ->> '$.usage.inputTokens', 0) AS input, coalesce(data ->> '$.usage.outputTokens', 0) AS output,
  coalesce(data ->> '$.usage.cacheReadTokens', 0) AS cache_read, coalesce(data ->> '$.usage.cacheWriteTokens', 0) AS cache_write
FROM event INDEXED BY event_type
JOIN (SELECT session, seq, CASE WHEN typeof(body) = 'text' AND json_valid(body) THEN body END AS data FROM body) AS body USING (session, seq)
WHERE type IN ('assistant/message', 'compact/call') AND data IS NOT NULL AND (type = 'compact/call' OR data ->> '$.usage' IS NOT NULL OR (turn IS NOT NULL AND data ->> '$.interrupted' IS NULL))`

const LINES = (by: string) => `
SELECT ${by}, provider, model, purpose,
  CASE WHEN input + cache_read + cache_write > 200000 THEN 200000 WHEN input + cache_read + cache_write > 100000 THEN 100000 ELSE 0 END AS prompt_above,
  count(*) AS requests, sum(unknown) AS unknown, sum(input) AS input, sum(output) AS output, sum(cache_read) AS cache_read, sum(cache_write) AS cache_write
FROM (${CALLS}) GROUP BY ${by}, provider, model, purpose, prompt_above ORDER BY provider || '/' || model || ' ' || purpose || ' ' || prompt_above`

const AS_JSON = `json_group_array(json_object('purpose', purpose, 'provider', provider, 'model', model, 'promptAbove', prompt_above,
  'requests', requests, 'unknownRequests', unknown, 'inputTokens', input, 'outputTokens', output, 'cacheReadTokens', cache_read, 'cacheWriteTokens', cache_write))`

/** Version 3: what was paid, summed in the rows of sessions and attempts. */
export const USAGE_SUMS = `
ALTER TABLE attempt ADD COLUMN usage TEXT NOT NULL DEFAULT '[]';
UPDATE session SET control = json_set(control, '$.usage', json('[]'));
UPDATE session SET control = json_set(control, '$.usage', json(sums.usage))
FROM (SELECT session, ${AS_JSON} AS usage FROM (${LINES('session')}) GROUP BY session) AS sums WHERE session.id = sums.session;
UPDATE attempt SET usage = sums.usage
FROM (SELECT session, compaction_id, ${AS_JSON} AS usage FROM (${LINES('session, compaction_id')}) GROUP BY session, compaction_id) AS sums
WHERE attempt.session = sums.session AND attempt.compaction_id = sums.compaction_id;
`
