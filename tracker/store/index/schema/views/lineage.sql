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
  a.minimum_cosine, a.location
FROM chain c JOIN artifacts a USING (artifact_id);

COMMENT ON VIEW lineage IS
  'Each artifact with the baseline it comes from and the methods on the way.';
COMMENT ON COLUMN lineage.artifact_id IS 'hash over its files';
COMMENT ON COLUMN lineage.parent_id IS 'artifact that it was made from';
COMMENT ON COLUMN lineage.root_id IS 'baseline at the beginning of the chain';
COMMENT ON COLUMN lineage.depth IS 'actions from the baseline';
COMMENT ON COLUMN lineage.recipe IS 'methods from the baseline on';
COMMENT ON COLUMN lineage.size_bytes IS 'bytes of the weight files on disk';
COMMENT ON COLUMN lineage.weight_bits IS 'mean bits per linear weight, scales included';
COMMENT ON COLUMN lineage.minimum_cosine IS 'least cosine of a layer with its parents';
COMMENT ON COLUMN lineage.location IS 'folder that holds the files';
