"""Runs in the REPL: the passages of an input that share most words with a question, by BM25 (``bm25s``)."""

from collections.abc import Iterable

NO_WORD = "(no word of the question is in any passage: these are the first)"


def best_passages(passages: Iterable[str], question: str, *, most: int, room: int) -> str:
    """The best of them in their order, each under its number, at most ``room`` characters."""
    import bm25s

    texts = list(passages)
    if not texts:
        return "(the input is empty)"
    index, ranked = bm25s.BM25(), list[int]()
    words = bm25s.tokenize(texts, stopwords="en", show_progress=False)
    if any(words.ids):
        index.index(words, show_progress=False)
        asked = bm25s.tokenize([question], stopwords="en", show_progress=False)
        places, scores = index.retrieve(asked, k=min(most, len(texts)), show_progress=False)
        ranked = [int(place) for place, score in zip(places[0], scores[0], strict=True) if score > 0]
    chosen: list[int] = []
    for place in ranked or range(min(most, len(texts))):
        room -= len(texts[place]) + 40  # its number, and the line between
        if room < 0 and chosen:
            break
        chosen.append(place)
    told = "" if ranked else f"{NO_WORD}\n"
    named = (f"[passage {place + 1:,} of {len(texts):,}]\n{texts[place]}" for place in sorted(chosen))
    return told + "\n".join(named)
