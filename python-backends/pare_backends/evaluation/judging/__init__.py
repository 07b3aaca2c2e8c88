"""A model that judges answers by a rubric: its prompts, its replies, and what is made of them."""
