"""Cut texts to a number of tokens."""

from mendgraph.state.tokens import count_tokens

MARK = " […] "
HEAD_SHARE = 0.7
GUESS = 0.9
"""How far below the limit the next try aims."""


def clip(text: str, tokens: int) -> str:
    """Return at most that many tokens of a text: its head and its tail."""
    if tokens <= 0:
        return ""
    count = count_tokens(text)
    keep = len(text)
    while count > tokens and keep > 0:
        keep = int(min(keep * tokens / count * GUESS, keep - 1))
        head = int(keep * HEAD_SHARE)
        tail = keep - head
        shown = text[:head] + MARK + text[len(text) - tail :] if keep else ""
        count = count_tokens(shown)
        if count <= tokens:
            return shown
    return text if count <= tokens else ""
