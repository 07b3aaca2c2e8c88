"""Runtime `transformers`: the dequantized model in torch."""

NAME = "transformers"
