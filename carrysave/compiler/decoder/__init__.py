"""Language models: decoders in integers, as golden has them, from prompts to words."""
