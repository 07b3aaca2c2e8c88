CREATE VIEW lineage AS
WITH RECURSIVE chain AS (
  SELECT artifact_id, artifact_id AS root_id, 0 AS depth, 'baseline' AS recipe
  FROM artifacts WHERE parent_id IS NULL
  UNION ALL
  SELECT a.artifact_id, c.root_id, c.depth + 1,
    CASE c.depth WHEN 0 THEN a.method ELSE c.recipe || ' + ' || a.method END
  FROM artifacts a JOIN chain c ON a.parent_id = c.artifact_id
)
SELECT c.artifact_id, a.parent_id, c.root_id, c.depth, c.recipe, a.size_bytes, a.weight_bits,
  a.minimum_cosine
FROM chain c JOIN artifacts a USING (artifact_id);

COMMENT ON VIEW lineage IS
  'Each artifact with the baseline it comes from and the methods on the way.';
