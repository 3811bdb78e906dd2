"""``unspool serve``: an RLM as a model behind OpenAI's API, for any client that can set a base URL.

A request is read and checked at the edge (:mod:`.bodies`), becomes a question over named contexts
(:mod:`.question`), is run and followed (:mod:`.running`), and told in the shape that was asked for
(:mod:`.chat`, :mod:`.responses`). :mod:`.app` joins them; :mod:`.process` is the process around it.
"""
