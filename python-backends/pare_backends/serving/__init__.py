"""An OpenAI-compatible server of an artifact: one protocol over every runtime that pare opens."""
