-- Databases before this one name files where the store once lay, and rank trials by older rules of the
-- front: a new number, as an older database is made anew from its journal.
COMMENT ON COLUMN problems.problem IS 'what was found, with paths below the store''s folder';
