"""Stored vectors: encoding them, keeping them, finding them. Knows no paper, no question and no language model."""
