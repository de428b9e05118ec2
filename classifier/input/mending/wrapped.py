"""Lines that were wrapped at the width of a terminal or of a mail: joined again."""

from __future__ import annotations

from collections import Counter

from ...patterns.lazy import LazyPattern
from .starts import BEGINS, EXCEPTION, OWNED, PREFIX
from .types import Lines

NARROWEST, WIDEST = 40, 250
"""Columns that text is thought to be wrapped at."""
USUAL = frozenset((80, 100, 120, 132, 160))
"""Widths of terminals: for these one line that goes on in the next is enough."""
MAILS = range(64, 81)
"""The same where words are left whole."""
NEAR = 25
"""A line that ends so many columns before the width may have been wrapped at a blank, before a long word."""
LONGER = 0.05
"""Share of lines that may be longer all the same: what was typed around the log."""
HABIT, HABITUAL, HABIT_SHARE = 12, 4, 0.2
"""Characters with which so many lines begin, and so great a share of all, that it is a prefix."""
MANY = 6
"""Lines without room for what follows, which are more than chance where few have had room."""
WIDTHS = 3
"""Widths that are tried, of those to which lines may be filled."""
FILLED, FILLED_SHARE = 2, 0.25
"""Lines without room for the next one's first word from which on words were left whole, and their share of those that are full."""
_FRAME_END = LazyPattern(r'File "[^"]{1,400}", ?line \d{1,9}, in (?:<[\w ]{1,40}>|[\w.<>]{1,200})$')
_HALF_FRAME = LazyPattern(r'File(?: "[^"\n]*(?:",?(?: line(?: \d{1,9},?(?: in)?)?)?)?)?$')
_CUT_FRAME = LazyPattern(r'File "[^"\n]{0,400}(?:",?(?: l?i?n?e?)?)?$')
_FRAME_AHEAD = ("File", "File ")
"""How a line ends that was broken before a long path."""
_FRAME = LazyPattern(r'File "[^"\n]{1,400}", line \d{1,9}, in [\w.<>]{1,200}')
FRAME_PIECES = 3
"""Lines over which such a frame stands at most: its word, its path, its line."""
_WHOLE_FRAME = LazyPattern(r'File "[^"\n]{1,400}", line \d{1,9}, in (?:<[\w ]{1,40}>|[\w.<>]{1,200})$')
_INDENTED = LazyPattern(r"(?: {2,}|\t)\S|[\s|]*[\^~]{2,}|\s*$")
_SPOKEN = frozenset(
    {
        "a", "after", "an", "and", "are", "as", "at", "be", "because", "been", "but", "by", "can", "cannot", "could",
        "did", "does", "due", "during", "for", "from", "has", "have", "if", "in", "into", "is", "it", "its", "may",
        "must", "no", "not", "of", "on", "or", "should", "so", "such", "than", "that", "the", "their", "then",
        "there", "this", "to", "was", "were", "when", "which", "while", "will", "with", "you",
    }
)  # fmt: skip
"""Words that stand in sentences: where a line ends in one or the next begins with one, no word was cut."""
_LONE = LazyPattern(r"\[rank\d{1,4}\]: ?$")


def unwrap(lines: Lines) -> Lines | None:
    """Return the lines with their continuations joined to them; None where none goes on."""
    texts = [line for _, line in lines]
    sizes = [len(text) for text in texts]
    usual = _usual_heads(texts)
    fresh = [text[:HABIT] in usual or begins(text) for text in texts]
    if width := _cut_at(sizes, texts, fresh):
        return _joined(lines, sizes, fresh, width, hard=True)
    # Code stands below a frame that is complete, whether or not its indentation is left.
    fresh = [known or (at > 0 and _ends_frame(texts[at - 1])) for at, known in enumerate(fresh)]
    if width := _filled_to(sizes, texts, fresh):
        return _joined(lines, sizes, fresh, width, hard=False)
    if any(line.endswith(_FRAME_AHEAD) for line in texts) and (found := _after_lone_words(lines)):
        # A path that had no room behind its word: the lines are a mail's, however few of them are full.
        width = max((size for size, text in zip(sizes, texts, strict=True) if size in MAILS and " " in text), default=0)
        return _joined(lines, sizes, fresh, width, hard=False) if width else found
    if any('File "' in line and _CUT_FRAME.search(line) for line in texts) and (found := _after_cut_frames(lines)):
        return found
    if any(line.startswith("[rank") and _LONE.match(line) for line in texts):
        return _after_lone_prefixes(lines)
    return None


def begins(text: str) -> bool:
    """Return whether a line is the first of its own, by its words or by how it is indented."""
    return bool(BEGINS.match(text) or _INDENTED.match(text))


def _usual_heads(texts: list[str]) -> frozenset[str]:
    """Return what so many lines begin with that it must be a prefix: a host's name, another program's time stamps."""
    heads = Counter(text[:HABIT] for text in texts if text[:1].isalpha() or text[:1] == "[")
    least = max(HABITUAL, len(texts) * HABIT_SHARE)
    return frozenset(
        head
        for head, count in heads.items()
        if count >= least and not head.startswith("line ") and any(sign.isdigit() or sign == "[" for sign in head)
    )


def _cut_at(sizes: list[int], texts: list[str], fresh: list[bool]) -> int:
    """Return the width at which words are cut; 0 where there is none."""
    cut = [at for at, size in enumerate(sizes[:-1]) if NARROWEST <= size <= WIDEST and not fresh[at + 1]]
    on = Counter(sizes[at] for at in cut)
    # The same words again say nothing more of where lines are cut.
    told = Counter(
        size for size, *_ in {(sizes[at], texts[at][-8:], texts[at + 1][:8]) for at in cut if " " in texts[at]}
    )
    coloured = Counter(sizes[at] for at in cut if OWNED.match(texts[at]))
    for width, count in sorted(on.items(), key=lambda item: (-item[1], -item[0]))[:3]:
        longer = sum(size > width for size in sizes)
        full = sum(size == width for size in sizes)
        if longer > LONGER * len(sizes) or longer * 5 > count or count * 2 < full:
            continue
        if count < 2 * _almost(on, coloured, width) or told[width] <= (near := _almost(told, coloured, width)):
            continue
        if _words_whole(cut, sizes, texts, width):
            continue
        if count >= 3 and told[width] >= (2 if width in USUAL and not near else 3):
            return width
        at = sizes.index(width)
        if width in USUAL and width == max(sizes) and count == full and _mid_word(texts[at], texts[at + 1]):
            return width
    return 0


def _words_whole(cut: list[int], sizes: list[int], texts: list[str], width: int) -> bool:
    """Return whether lines are filled with whole words, and some to the very edge by chance: others end where the next had no room.

    Args:
        cut: The lines that go on in the next.
        sizes: Columns of all.
        texts: The lines.
        width: Columns that many of them have.
    """
    full = [at for at in cut if sizes[at] == width]
    filled = [at for at in cut if sizes[at] < width <= sizes[at] + _first_word(texts[at + 1])]
    if any(texts[at][-1:].isspace() or texts[at + 1][:1].isspace() for at in full):
        return False
    return len(filled) >= max(FILLED, len(full) * FILLED_SHARE)


def _almost(on: Counter[int], coloured: Counter[int], width: int) -> int:
    """Return how many lines go on in the next from a little before the width.

    Colours that were counted as columns, and are gone, make some lines shorter: all of one kind by as much.
    """
    near = Counter({size: count for size, count in on.items() if width - NEAR < size < width})
    shades = [size for size, count in coloured.most_common() if size in near and count >= 3][:3]
    return near.total() - sum(coloured[size] for size in shades)


def _mid_word(text: str, after: str) -> bool:
    """Return whether a line ends, and the next begins, as nothing but a word that was cut does."""
    if not (text[-1:].isalnum() and after[:1].isalnum()) or after[:1].isupper():
        return False
    return text.rpartition(" ")[2] not in _SPOKEN and after.partition(" ")[0] not in _SPOKEN


def _filled_to(sizes: list[int], texts: list[str], fresh: list[bool]) -> int:
    """Return the width to which lines are filled with words; 0 where there is none.

    A line that goes on in the next has no room for the first word of that: the width lies between.
    """
    last = [
        (at, size, size + _first_word(texts[at + 1])) for at, size in enumerate(sizes[:-1]) if texts[at + 1].strip()
    ]
    broken = [item for item in last if not fresh[item[0] + 1]]
    wordy = sorted(size for size, text in zip(sizes, texts, strict=True) if " " in text.strip())
    for width in _widths(broken, wordy):
        near = [at for at, size, _ in last if width - NEAR < size <= width]
        on = [at for at, low, high in broken if low <= width <= high and (low > width - NEAR or high - low > NEAR)]
        loose = sum(high < width for _, _, high in broken)
        full = [at for at in on if sizes[at] > width - NEAR]
        if len(full) * 2 < len(near) and (len(on) < MANY or len(on) < 2 * loose):
            continue
        runs = set(on)
        firsts = [at for at in on if at - 1 not in runs]
        if sum(fresh[at] for at in firsts) * 2 < len(firsts):
            continue  # prose, or anything but a log
        if len({texts[at] for at in on}) >= 3:
            return width
        # Of so few, all must go on as a sentence or a frame does.
        if width in MAILS and all(_open(texts[at], texts[at + 1]) for at in on):
            return width
    return 0


def _widths(broken: list[tuple[int, int, int]], wordy: list[int]) -> list[int]:
    """Return the widths that most of the broken lines allow, the likeliest first.

    Args:
        broken: Lines that go on in the next: index, columns, columns with the next one's first word.
        wordy: Columns of the lines that have a blank to be broken at, ascending.
    """
    least = wordy[int(len(wordy) * (1 - LONGER))] if wordy else 0
    candidates = {size for _, size, _ in broken if max(least, NARROWEST) <= size <= WIDEST}
    if wordy and NARROWEST <= wordy[-1] <= WIDEST:
        candidates.add(wordy[-1])
    fits = Counter({width: sum(low <= width <= high for _, low, high in broken) for width in candidates})
    return [width for width, count in sorted(fits.items(), key=lambda item: (-item[1], item[0])) if count][:WIDTHS]


def _open(text: str, after: str) -> bool:
    """Return whether a line cannot end as it does, or the next is the rest of a sentence."""
    if _HALF_FRAME.search(text) or PREFIX.fullmatch(text):
        return True
    return after[:1].islower() and " " in after.strip() and text[-1:] not in ".:;)]}'\""


def _first_word(text: str) -> int:
    end = text.find(" ")
    return len(text) if end < 0 else end


def _joined(lines: Lines, sizes: list[int], fresh: list[bool], width: int, hard: bool) -> Lines | None:
    found: Lines = []
    whole = ""
    for at, (number, text) in enumerate(lines):
        last = sizes[at - 1] if at else 0
        if found and text and last and _goes_on(whole, text, last, fresh[at], width, hard):
            glue = "" if _cut_in_word(whole, last, width, hard) else " "
            whole = whole + text if not glue else f"{whole.rstrip()} {text.lstrip()}"
            found[-1] = (found[-1][0], whole)
        else:
            whole = text
            found.append((number, text))
    return found if len(found) < len(lines) else None


def _goes_on(whole: str, text: str, last: int, fresh: bool, width: int, hard: bool) -> bool:
    """Return whether a line goes on in the next.

    Args:
        whole: The line so far.
        text: The next.
        last: Columns of the piece above it.
        fresh: Whether the next looks like a line of its own.
        width: Columns.
        hard: Whether words are cut.
    """
    if hard and last == width:
        # An indented line is one of its own only where the one above is complete: blanks happen to stand at the edge.
        return not fresh or (not BEGINS.match(text) and text.strip(" ^~") != "" and not _complete(whole))
    if whole.startswith('{"') and whole.endswith("}"):
        return False  # a collector's record
    if PREFIX.fullmatch(whole):
        return not BEGINS.match(text) or text.startswith(("File ", "Traceback"))
    if fresh or (hard and (last > width or last < width - 2) and not (last > width - NEAR and OWNED.match(whole))):
        return False
    if not hard and (EXCEPTION.match(text) or _ends_frame(whole)):
        return False
    return last + 1 + _first_word(text) > width


def _ends_frame(text: str) -> bool:
    return 'File "' in text and bool(_FRAME_END.search(text))


def _complete(whole: str) -> bool:
    """Return whether a line can end there: a frame of a stack with its function, a statement."""
    return bool(_FRAME_END.search(whole)) or whole.endswith((":", ".", ")", "(", "{", "["))


def _cut_in_word(whole: str, last: int, width: int, hard: bool) -> bool:
    """Return whether the edge went through a word, or beside a blank that is still there."""
    if hard:
        # One column less: the blank at the edge was not copied. Many less: colours were counted as columns.
        return last == width or last < width - 2
    return last == width and whole.count('"') % 2 == 1 and " " not in whole.rpartition('"')[2]


def _after_cut_frames(lines: Lines) -> Lines | None:
    """Join frames of a stack that were cut anywhere with what makes them whole, however wide the lines are."""
    found: Lines = []
    for number, text in lines:
        before = found[-1][1].rstrip() if found else ""
        if (
            'File "' in before
            and _CUT_FRAME.search(before)
            and _WHOLE_FRAME.search(whole := _whole_frame(before, text.strip()))
        ):
            found[-1] = (found[-1][0], whole)
        else:
            found.append((number, text))
    return found if len(found) < len(lines) else None


def _after_lone_words(lines: Lines) -> Lines | None:
    """Join frames of a stack that were broken behind ``File``, as their paths had no room there, however wide the lines are."""
    found: Lines = []
    at = 0
    while at < len(lines):
        number, text = lines[at]
        at += 1
        if text.endswith(_FRAME_AHEAD) and at < len(lines) and lines[at][1].lstrip().startswith('"'):
            whole = text.rstrip()
            for after, (_, piece) in enumerate(lines[at : at + FRAME_PIECES - 1], at + 1):
                whole = f"{whole} {piece.strip()}"
                if _FRAME.search(whole):
                    text, at = whole, after
                    break
        found.append((number, text))
    return found if len(found) < len(lines) else None


def _whole_frame(before: str, after: str) -> str:
    """Return a frame of its two parts; the blank at the edge may not have been copied."""
    return f"{before} {after}" if before.endswith(",") else before + after


def _after_lone_prefixes(lines: Lines) -> Lines | None:
    """Join what stands alone after a rank with its line, which was broken off behind it."""
    found: Lines = []
    for number, text in lines:
        if found and _LONE.match(found[-1][1]) and text.strip() and not text.startswith("[rank"):
            found[-1] = (found[-1][0], f"{found[-1][1].rstrip()} {text}")
        else:
            found.append((number, text))
    return found if len(found) < len(lines) else None
