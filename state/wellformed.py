"""Text that is no Unicode: lone surrogates, which no store and no encoder takes.

JSON may spell them (RFC 8259, section 8.2: behaviour is unpredictable); here each
becomes U+FFFD, the replacement character.
"""

import re
from typing import Any

SURROGATE = re.compile("[\ud800-\udfff]")


def well_formed(value: Any) -> Any:
    """Return JSON values whose text is Unicode; pairs become their character."""
    if isinstance(value, str):
        return _text(value) if SURROGATE.search(value) else value
    if isinstance(value, dict):
        return {well_formed(key): well_formed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [well_formed(each) for each in value]
    return value


def _text(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
