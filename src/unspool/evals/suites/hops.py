"""Questions whose answer is two or three documents away, among many documents of the same shape.

The documents are made, not collected: companies, people and towns that do not exist, told in wordings that
differ, each beside a sentence that misleads, and padded with prose. So no model knows the answers by heart.

>>> samples = HOPS.make(8_000, seed=1)
>>> [sample.task for sample in samples], len(samples[0].context) > 20
(['two', 'three', 'count'], True)
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from ..data import Data
from ..hidden import prose
from ..sample import Sample
from .suite import Suite

DOCUMENT = 640  # characters, about: 1,000 documents are 160k tokens

_STARTS = ("Bar", "Cal", "Dor", "Elm", "Fen", "Gar", "Hol", "Ister", "Jor", "Kel", "Lor", "Mar", "Nor", "Os",
           "Pel", "Quor", "Ros", "Sel", "Tarn", "Ulm", "Ver", "Wen", "Yar", "Zel")  # fmt: skip
_MIDDLES = ("a", "e", "i", "o", "u", "an", "en", "il", "or", "ad", "em", "ur")
_TOWNS = ("ham", "bury", "ford", "wick", "stead", "mouth", "field", "by")
_FAMILIES = ("ton", "son", "man", "ley", "wood", "court", "ridge", "well")
_COMPANIES = ("ex", "ona", "tech", "ine", "ara", "ium", "orix", "entis")
_GIVEN = (
    "Ada",
    "Bruno",
    "Clara",
    "Dario",
    "Edith",
    "Felix",
    "Greta",
    "Hugo",
    "Ines",
    "Jonas",
    "Kira",
    "Leon",
)
PROVINCES = ("Northmark", "Eastvale", "Southmoor", "Westreach", "Highfell", "Lowmere")

FOUNDED = (
    "{0} was founded by {1}; {2} joined as its first clerk.",
    "It was {1}, and not {2} as is often said, who founded {0}.",
    "{2} runs {0} today. Its founder is {1}.",
)
BORN = (
    "{0} was born in {1} and now lives in {2}.",
    "The birthplace of {0} is {1}; school years in {2} came later.",
    "{2} claims {0} as its own, but it was in {1} that {0} came into the world.",
)
LIES = (
    "{0} is a town in {1}, a day's journey from {2}.",
    "Traders from {2} come to {0} every spring, as to all of {1}, in which it lies.",
    "Although the road to it leads through {2}, {0} lies in {1}.",
)
FOUNDER = "Who founded {}? Answer with the name alone."
BIRTHPLACE = "Where was {} born? Answer with the name of the town alone."
PROVINCE = "In which province does {} lie? Answer with its name alone."

READ = f"""documents = {{text.split("\\n", 1)[0]: text for text in context}}
print(len(documents), context[0][:300])
def ask(question, names):
    prompts = [question.format(name) + "\\n\\n" + documents[name] for name in names]
    return llm_query_batched(prompts, on_error="raise")
def provinces(companies):
    people = ask({FOUNDER!r}, companies)
    towns = ask({BIRTHPLACE!r}, people)
    return towns, ask({PROVINCE!r}, towns)
"""


@dataclass(frozen=True, slots=True)
class World:
    """Each name with what its document says of it."""

    founders: Mapping[str, str]
    births: Mapping[str, str]
    provinces: Mapping[str, str]

    def town(self, company: str) -> str:
        return self.births[self.founders[company]]

    def province(self, company: str) -> str:
        return self.provinces[self.town(company)]

    @property
    def facts(self) -> dict[str, str]:
        """What a sub-model replies that is asked one question over its document."""
        asked = ((FOUNDER, self.founders), (BIRTHPLACE, self.births), (PROVINCE, self.provinces))
        return {question.format(name): told for question, known in asked for name, told in known.items()}


def hops(room: int, chance: random.Random, data: Data) -> list[Sample]:
    """Three questions over one corpus: two hops, three hops, and three hops for every company."""
    world = _world(max(8, room // DOCUMENT), chance)
    context, facts = _documents(world, room, chance), world.facts
    one, other = chance.sample(sorted(world.founders), 2)
    found = [world.province(company) for company in world.founders]
    province = max(PROVINCES, key=found.count)
    end = "print(result)\nsubmit(result)"
    return [
        Sample(
            "two",
            f"In which town was the founder of {one} born? Answer with the name of the town alone.",
            context, world.town(one), "contains",
            f"{READ}result = provinces([{one!r}])[0][0]\n{end}", facts=facts,
        ),
        Sample(
            "three",
            f"In which province lies the town where the founder of {other} was born? Answer with its "
            "name alone.",
            context, world.province(other), "name",
            f"{READ}result = provinces([{other!r}])[1][0]\n{end}", PROVINCES, facts=facts,
        ),
        Sample(
            "count",
            "Some of the documents are about a company, and each of those names its founder. How many "
            f"companies have a founder who was born in a town of {province}? Answer with the number alone.",
            context, found.count(province), "close",
            f"{READ}companies = [name for name in documents if name.endswith(' Works')]\n"
            f"result = provinces(companies)[1].count({province!r})\n{end}",
            facts=facts,
        ),
    ]  # fmt: skip


def _world(documents: int, chance: random.Random) -> World:
    """A quarter of the documents are companies, half are people, a quarter towns."""
    quarter = documents // 4
    towns = _names(_TOWNS, quarter, chance)
    families = _names(_FAMILIES, 2 * quarter, chance)
    people = [f"{chance.choice(_GIVEN)} {family}" for family in families]
    companies = [f"{name} Works" for name in _names(_COMPANIES, quarter, chance)]
    return World(
        dict(zip(companies, chance.sample(people, len(companies)), strict=True)),
        {person: chance.choice(towns) for person in people},
        {town: chance.choice(PROVINCES) for town in towns},
    )


def _names(ends: tuple[str, ...], count: int, chance: random.Random) -> list[str]:
    """Names that do not exist, each once; longer ones where many are wanted."""
    made: list[str] = []
    syllables = 0
    while len(made) < 2 * count:
        syllables += 1
        made = ["".join(parts) for parts in product(_STARTS, *[_MIDDLES] * syllables, ends)]
    return chance.sample(list(dict.fromkeys(made)), count)


def _documents(world: World, room: int, chance: random.Random) -> list[str]:
    """One document a name: its title, and what it says among prose."""
    told = (
        (FOUNDED, world.founders, sorted(world.births)),
        (BORN, world.births, sorted(world.provinces)),
        (LIES, world.provinces, sorted(PROVINCES)),
    )
    said: list[tuple[str, str]] = []
    for wordings, known, others in told:
        for name, value in known.items():
            other = chance.choice([each for each in chance.sample(others, 2) if each != value])
            said.append((name, chance.choice(wordings).format(name, value, other)))
    chance.shuffle(said)
    fixed = sum(len(name) + len(sentence) + 2 for name, sentence in said)
    around = iter(prose(max(0, room - fixed), chance))
    texts = [[sentence] for _, sentence in said]
    for at, paragraph in enumerate(around):
        texts[at % len(texts)].insert(chance.randint(0, 1), paragraph)
    return [f"{name}\n" + " ".join(text) for (name, _), text in zip(said, texts, strict=True)]


HOPS = Suite(
    "hops",
    "answers two and three documents away, among documents of the same shape",
    ("two", "three", "count"),
    hops,
    smallest=2_000,
)
