CREATE VIEW ancestry AS
WITH RECURSIVE chain AS (
  SELECT artifact_id, parent_id AS ancestor_id, 1 AS depth, method AS actions
  FROM artifacts WHERE parent_id IS NOT NULL
  UNION ALL
  SELECT c.artifact_id, a.parent_id, c.depth + 1, a.method || ' + ' || c.actions
  FROM chain c JOIN artifacts a ON a.artifact_id = c.ancestor_id
  WHERE a.parent_id IS NOT NULL
)
SELECT c.artifact_id, c.ancestor_id, c.depth, c.actions, a.size_bytes,
  p.size_bytes AS ancestor_size_bytes, p.method AS ancestor_method
FROM chain c
JOIN artifacts a ON a.artifact_id = c.artifact_id
LEFT JOIN artifacts p ON p.artifact_id = c.ancestor_id;

COMMENT ON VIEW ancestry IS
  'Every ancestor of every artifact, one row per pair: how far it is and which actions lie between.';
