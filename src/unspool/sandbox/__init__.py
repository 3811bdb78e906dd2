"""Sandboxes: where model-written code runs. See :mod:`unspool.sandbox.protocol` for the contract."""
