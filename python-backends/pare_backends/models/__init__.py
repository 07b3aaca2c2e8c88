"""Models before compression: where they come from, what they are, the tiny one made here."""
