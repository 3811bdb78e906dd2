"""What the REPL reaches beyond plain values, loaded in the worker: nothing but the standard library."""
