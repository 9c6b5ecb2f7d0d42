"""Loose words for a machine, rewritten in the form that `machine_words` reads.

    dual 3090, i7, 32 GB RAM      2x 3090, 32 GB RAM
    Colab T4                      T4
    显存12G 内存64G                12G + 内存64G

A bare size is a card of that memory if it comes first or with a word for a card's memory. Next to a
processor or a word for a computer it is system memory.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from gpusizer.core.tables import toml_of

# Most characters of a text that is read; a longer one is returned unchanged.
MAX_CHARS = 300

_TABLE = toml_of(__file__)


def _pattern(group: Mapping[str, Sequence[str]]) -> str:
    # Latin words alone, other characters anywhere.
    latin, han = "|".join(group["latin"]), "|".join(group["han"])
    # `-i`, because matching without case compiles a range of characters one by one (60 ms)
    letter = r"(?-i:[^\W\u4e00-\u9fff])"
    words = rf"(?<!{letter})(?:{latin})(?!{letter})"
    return f"(?:{words}|{han})" if han else words


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_LINK = rf"(?: ?{_pattern(_TABLE['links'])}| ?[:：])* ?"
_SYSTEM = (
    r"(?:(?<![a-z\d])(?:ram|memory|mem[oó]ria|mem|dram|l?p?ddr\d\w?(?:-\d+)?)\b|内存|記憶體|记忆体)"
)
_AMOUNT = r"(?<![a-z\d.])(?:\d{1,2} ?[x×*] ?)?\d{1,6}(?:\.\d+)? ?(?:tb|tib|t|gb|gib|g)(?![a-z\d])"
_MEMORY = rf"(?:(?P<card>{_pattern(_TABLE['card_memory'])})|{_SYSTEM}(?:{_LINK}{_SYSTEM})*)"
_MEMORIES = tuple(
    _compiled(pattern)
    for pattern in (
        rf"(?P<amount>{_AMOUNT}){_LINK}{_MEMORY}",
        rf"{_MEMORY}{_LINK}(?P<amount>{_AMOUNT})",
    )
)
_AMOUNTS, _ANY_MEMORY = _compiled(_AMOUNT), _compiled(_MEMORY)
_SYSTEM_WORDS = _compiled(_SYSTEM)
_AMOUNT_ALONE = _compiled(r"(?:\d{1,2} ?[x×*] ?)?\d{1,6}(?:\.\d+)? ?(?:tb|tib|t|gb|gib|g)")
_SIZED = _compiled(r"(?<![\w.])\d{1,4} ?(?:gb|gib|g)\b")
_FILLERS = _compiled(_pattern(_TABLE["fillers"]))
# "A 6000" is a name.
_ARTICLE = _compiled(r"^an? (?=[1-5]0[5-9]0|\d{1,3} ?gb?\b|[a-z])")
_BEFORE_SIZE = _compiled(rf"(?<=\S ){_pattern(_TABLE['links'])} ?(?=\d{{1,3}} ?gb?\b)")
_SLASH = _compiled(r" ?/ ?(?=\d{1,4} ?(?:gb|g)\b)")
_CARD_WORD = _compiled(r"\b(?:cards?|gpus?|placas?)\b|显卡")
_LAPTOP_FIRST = _compiled(
    r"^(laptop|notebook|笔记本) ?(?:with |com |an? )*(?=\S)(?!\d{1,3} ?gb?\b)"
)
_GLUED = _compiled(r"^(\D{0,20}\d{4}[a-z ]{0,6}?)x(\d{1,2})$")
_COMPUTERS = _compiled(_pattern(_TABLE["computers"]))
_PROCESSORS = _compiled(_pattern(_TABLE["processors"]))
# Words for a machine without a usable card.
NO_CARD = _compiled(_pattern(_TABLE["no_card"]))
_EDGE = _compiled(rf"^(?:{_pattern(_TABLE['links'])}\s*)+|(?:\s*{_pattern(_TABLE['links'])})+$")
# Their memory is the system's too, so that "RAM" says how much the GPU has.
_SHARED = _compiled(
    r"\bmac\b|\bmac ?(?:book|mini|studio|pro)|\bimac|\bm[1-9](?: ?(?:pro|max|ultra))?\b|strix halo"
    r"|ryzen ai|dgx spark|\bgb10\b|jetson"
)
_MAKERS = (
    r"nvidia|geforce|rtx|gtx|quadro|tesla|amd|radeon|rx|instinct|intel|arc|[ahlbv]\d{2,4}s?|mi\d{2,3}"
    r"|[tp]\d{1,3}|\d{4}"
)
_COUNTED = _compiled(rf"^(\d{{1,2}}) (?=(?:{_MAKERS})\b)")
_HAN_COUNTED = re.compile(r"^(\d{1,2}) ?[张块卡片]")
_PLURAL = _compiled(r"\b((?!7[67]00)\d{4})s\b")
_BEFORE, _AFTER = (
    tuple(
        (int(number), _compiled(form.format("|".join(words))))
        for number, words in _TABLE[place].items()
    )
    # A number is a word of its own: "quad 3090", and not "Quadro RTX 6000".
    for place, form in (
        ("before", r"^(?:{})(?![a-z])[ -]*(?=\S)"),
        ("after", r"(?<![a-z]) ?(?:{})$"),
    )
)


def tidy(text: str, between: re.Pattern[str]) -> str:
    """Return a text without words that name no part; `between` matches signs that join parts."""
    # Unchanged are a text with parentheses, a description of a card, a long text, and a text of
    # such words alone.
    plain = _SLASH.sub(" + ", plain_text(text))
    if len(plain) > MAX_CHARS or "(" in plain or plain.casefold().startswith("custom:"):
        return text
    pieces = [piece for part in between.split(plain) for piece in _pieces_of(part)]
    return _rejoined(plain, between, _joined(pieces)) or text


def plain_text(text: str) -> str:
    """Return the text in usual characters, with single spaces within its lines."""
    lines = unicodedata.normalize("NFKC", text).splitlines()
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines)))


def _rejoined(plain: str, between: re.Pattern[str], parts: Sequence[str]) -> str:
    # The text's own signs are kept if its number of parts is unchanged.
    own = list(between.finditer(plain))
    if len(own) == len(parts) - 1:
        signs = [sign[0] for sign in own]
    else:
        listed = bool(own) and all(sign[0].strip() in (",", "，", ";", "、") for sign in own)
        signs = [", " if listed else " + "] * (len(parts) - 1)
    return "".join(text for pair in zip(parts, [*signs, ""], strict=False) for text in pair)


# Kind and text: a "card", the "size" of one, an "amount" of unknown memory, "ram", "none" for no
# card, or a "computer" without either.
Piece = tuple[str, str]


def _joined(pieces: Sequence[Piece]) -> list[str]:
    # A size of a card follows its name, a card comes before memory, and an amount next to a
    # computer is system memory.
    found: list[str] = []
    is_computer = any(kind in ("computer", "none") for kind, _ in pieces)
    for kind, text in pieces:
        last = found[-1] if found else ""
        is_card = bool(last) and not _ANY_MEMORY.search(last) and not _AMOUNT_ALONE.fullmatch(last)
        if kind == "amount" and is_computer:
            found.append(f"{text} RAM")
        elif kind == "size" and is_card and not _SIZED.search(last):
            found[-1] = f"{last} {text}"
        elif kind == "size" and not is_card:
            found.insert(0, text)
        elif kind == "ram" and is_card and _SHARED.search(last) and not _SIZED.search(last):
            found[-1] = f"{last} {_SYSTEM_WORDS.sub('', text).strip()}"
        elif kind not in ("size", "computer"):
            found.append(text)
    return found


def _pieces_of(part: str) -> list[Piece]:
    # Cards and amounts in the order of the text.
    if _SHARED.search(part):
        return [("card", _counted(_cleaned(_ANY_MEMORY.sub(" ", part))))]
    amounts, rest = _memories(part)
    if not amounts and _ANY_MEMORY.search(rest) and not _AMOUNTS.search(rest):
        return [("ram", part)]  # `parse_rig` asks for the amount
    has_no_card = NO_CARD.search(rest) is not None
    rest = _ANY_MEMORY.sub(" ", NO_CARD.sub(" ", rest))
    is_computer = _PROCESSORS.search(rest) or _COMPUTERS.search(rest)
    named = _cleaned(_PROCESSORS.sub(" ", rest))
    alone = _cleaned(_COMPUTERS.sub(" ", named))
    found: list[Piece] = []
    if has_no_card and not alone and not amounts:
        found.append(("none", "CPU"))
    elif is_computer or has_no_card:
        found.append(("computer", ""))
    if _AMOUNT_ALONE.fullmatch(alone):
        found.append((_kind(part), alone))
    elif alone:
        found.append(("card", _counted(named)))
    return found + amounts


def _kind(part: str) -> str:
    # A bare amount is the "size" of a card if a word for it is next to it.
    memory = _ANY_MEMORY.search(part)
    if memory is None:
        return "size" if _CARD_WORD.search(part) else "amount"
    return "size" if memory["card"] else "ram"


def _memories(part: str) -> tuple[list[Piece], str]:
    # In the order of the text, with the rest of it.
    word, amount = _ANY_MEMORY.search(part), _AMOUNTS.search(part)
    if word is None or amount is None:
        return [], part
    orders = _MEMORIES if amount.start() < word.start() else _MEMORIES[::-1]
    order = next((order for order in orders if order.search(part)), None)
    if order is None:
        return [], part
    found: list[Piece] = [
        ("size", match["amount"]) if match["card"] else ("ram", match[0].strip())
        for match in order.finditer(part)
    ]
    return found, order.sub(" ", part)


def _cleaned(text: str) -> str:
    # Fillers are removed, and words that link nothing any more.
    words = " ".join(_FILLERS.sub(" ", text).split()).strip(" -:,.?!")
    words = _BEFORE_SIZE.sub("", words)
    words = _ARTICLE.sub("", words)
    return _EDGE.sub("", words).strip()


def _counted(name: str) -> str:
    # A card with its number as "2x" if words say it, and "laptop" after its name.
    name = " ".join((_LAPTOP_FIRST.sub("", name), *_LAPTOP_FIRST.findall(name)))
    glued = _GLUED.fullmatch(name)
    if glued:
        return f"{glued[2]}x {glued[1].strip()}"
    for number, words in (*_BEFORE, *_AFTER):
        if words.search(name):
            return f"{number}x {_single(words.sub('', name, count=1))}"
    for counted in (_COUNTED, _HAN_COUNTED):
        match = counted.search(name)
        if match:
            return f"{match[1]}x {_single(name[match.end() :])}"
    return name


def _single(name: str) -> str:
    return _PLURAL.sub(r"\1", _cleaned(name))
