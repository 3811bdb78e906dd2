"""unspool: a Recursive Language Model engine."""
