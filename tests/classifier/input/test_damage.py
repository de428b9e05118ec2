"""What makes a text worth a closer look, sign by sign; a log as a server writes it has none of them."""

from __future__ import annotations

import pytest

from tests.classifier.input.as_read import RECORD, read, texts
from vllm_triage.classifier.input.damage import looks_damaged
from vllm_triage.classifier.input.decode import Cleaner
from vllm_triage.classifier.input.mending.order import newest_first
from vllm_triage.classifier.input.mending.starts import BEGINS, DETAILS, EXCEPTION
from vllm_triage.classifier.input.numbers import Mended, Numbers
from vllm_triage.classifier.input.read import Block, Chunks, join_sources, read_blocks

PLAIN = f"{RECORD} one\n" * 3


@pytest.mark.parametrize(
    "sign",
    [
        "<br>", "</pre>", "</div>", "</span>", "</p>", "</td>", "</code>", "</html>", "</summary>", "&quot;", "&lt;", "&gt;", "&#39;", "&nbsp;",
        "&amp;", "\u201c", "\u201d", "\u2018", "\u2019", "\u2013", "\u2014", "\\nTraceback", "\\n  File", "\\nINFO ", "\\nERROR ", "\\nWARNING ",
        "\\n(", "\\n', '", "^M", "]:\n", "\u00a0",
    ],
)  # fmt: skip
def test_signs_within_a_line(sign: str) -> None:
    """Of pages, word processors, strings that were written out, terminals."""
    assert not looks_damaged(PLAIN.encode())
    assert looks_damaged(f"{PLAIN}{RECORD} {sign} x\n{PLAIN}".encode())
    assert looks_damaged(f"{PLAIN}{RECORD} {sign} x\n{PLAIN}".replace("\n", "\r\n").encode())


@pytest.mark.parametrize("name", ["message", "msg", "log", "line", "text", "textpayload", "body", "content", "event", "_raw", "raw"])  # fmt: skip
@pytest.mark.parametrize("sign", [",", ";", "\t"])
def test_heads_of_tables(name: str, sign: str) -> None:
    """A cell of the first line is called as viewers call the message, in whatever case."""
    assert looks_damaged(f"time{sign}{name.upper()}\nx\n".encode())
    assert looks_damaged(f'"@{name}"{sign}x\nx\n'.encode())
    assert not looks_damaged(f"time{sign}{name}s\nx\n".encode())
    assert not looks_damaged(f"{'x' * 400}{sign}{name}\nx\n".encode())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{\n  "a": 1\n}\n', True), ("[\r\n1]\n", True), ("[ 1,\n2]\n", True), ("[{}\n]\n", True), ('{"a": 1}\n', True), ('{"a": 1}\n{"a": 2}\n', False),
        ("2026-03-04T09:14:00Z,x\nx\n", True), ('"a","b"\nx\n', True), ('x"\n"a"\n"b"\n', True), ('x"\n"a"\n', False), ('x\n"a",\n  "b",\n  "c",\n  d\n', True), ('x\n"a",\n  "b",\n  d\n', False),
        ("1 one\n2 two\n", True), ("   7: one\n   8: two\n", True), ("1 one\n3 two\n", False), ("12 one\n13 two\n", True), ("9x\n10x\n", True), ("x\n1 y\n2 z\n", False),
        ("", False), ("\n", False),
    ],
)  # fmt: skip
def test_signs_of_exports(text: str, expected: bool) -> None:
    """Records laid out, tables without a head, line numbers."""
    assert looks_damaged(text.encode()) is expected


@pytest.mark.parametrize(
    "sign", ["(Worker pid=7) ", 'File "/a.py"', "INFO ", "ERROR ", "WARNING ", "INFO: ", "ERROR: ", "Traceback (most"]
)  # fmt: skip
def test_signs_of_lost_newlines(sign: str) -> None:
    """Two beginnings of lines far behind a long line's own; in the only line of a log one is enough."""
    assert looks_damaged(("x\n" + "y" * 150 + (sign + "z" * 30) * 3 + "\nx\n").encode())
    assert not looks_damaged(("x\n" + "y" * 150 + "z" * 150 + "\nx\n").encode())
    assert looks_damaged(("y" * 30 + sign).encode())
    assert not looks_damaged(("y" * 19 + sign).encode()[:20])


@pytest.mark.parametrize(("width", "expected"), [(41, True), (40, False), (250, True), (251, False)])
def test_signs_of_wrapped_lines(width: int, expected: bool) -> None:
    """A line of 41 to 250 columns that goes on in a line that begins like none."""
    line = "x" * width
    assert looks_damaged(f"{line}\ngoes on\nend\n".encode()) is expected
    assert not looks_damaged(f"{line}\nINFO x\n".encode())
    assert not looks_damaged((f"{line}\ngoes on\n" + "z" * 252 + "\n").encode())


@pytest.mark.parametrize("first", list("(IWED[T \t<>{\"'-|`$#~^=0123456789"))
def test_beginnings_of_lines_of_their_own(first: str) -> None:
    """What stands above such a line was not wrapped."""
    assert not looks_damaged(f"{'x' * 80}\n{first}y\n".encode())


@pytest.mark.parametrize(
    "line",
    [
        "(EngineCore_0 pid=7) x", "(pid=7, ip=10.0.0.1) x", "INFO 11-02 10:00:00 [a.py:1] x", 'File "/a.py", line 1', 'File \\"/a.py', "Traceback (most recent call last):",
        "The above exception was the direct cause of the following exception:", "During handling of the above exception, another exception occurred:",
        "[rank0]: x", "[W1102 10:00:00 x", "INFO:     Started", "ERROR:  [x]", "W1102 10:00:00.1 x", "Process EngineCore_0:", "Exception in thread x", "Exception in callback x",
        "Exception in ASGI x", "Exception ignored in x", "handle: <x", "future: <x", "Task exception was never retrieved", "Fatal Python error: x", "Current thread 0x7", "Thread 0x7",
        "terminate called", "what(): x", "frame #3: x", "Exception raised from x", "Segmentation fault", "Bus error", "Aborted (core", "Killed",
        "Loading safetensors checkpoint shards: 1", "Loading pt checkpoint shards: 1", "Capturing CUDA graph", "Capturing cudagraphs", "Processed prompts: 1", "usage: vllm serve [-h]",
        "docker: Error", "nvidia-container-cli: x", "huggingface/tokenizers: x", "/a/b.py:12: UserWarning: x", "host-1:12:34 [0] NCCL x", "vllm serve: error: x",
        "vllm: error: x", "ERROR x", "2025-11-02 10:00", "[2025-11-02T10:00", "10:00:00 x", "vllm-1  | x", "$ ls", "# ls", "```", "> x", '{"a"', "</pre>", "<br>", "│ x", "| x", "+ x",
        "Loading weights: 50% x",
    ],
)  # fmt: skip
def test_first_lines_of_their_own(line: str) -> None:
    """Also indented; in the middle of words none begins."""
    assert BEGINS.match(line)
    assert BEGINS.match(f"  {line}")


@pytest.mark.parametrize(
    "line", ["goes on", "and then INFO x", "of 50 things", "Kill it", "processes", "(see above)", "error: x", "a.py:12 x"]
)  # fmt: skip
def test_lines_that_go_on(line: str) -> None:
    """Nothing of them begins a line of a log."""
    assert not BEGINS.match(line)


@pytest.mark.parametrize(
    "name",
    [
        "ValueError", "RuntimeError", "TypeError", "KeyError", "AttributeError", "AssertionError", "ImportError", "ModuleNotFoundError", "OSError",
        "NotImplementedError", "IndexError", "FileNotFoundError", "PermissionError", "ConnectionError", "TimeoutError", "MemoryError", "UnicodeDecodeError",
        "ZeroDivisionError", "NameError", "SystemExit", "KeyboardInterrupt", "ConnectionRefusedError", "LookupError",
    ],
)  # fmt: skip
def test_exceptions_of_python_are_known_anywhere(name: str) -> None:
    """Also glued to what stands before; others need a gap."""
    assert EXCEPTION.search(f"self.x{name}: y")
    assert EXCEPTION.search(f"x {name}: y")
    assert not EXCEPTION.search(f"x {name} y")


@pytest.mark.parametrize("ending", ["Error", "Exception", "Exit", "Interrupt", "OutOfResources", "NotFound", "Failure", "Timeout", "Group"])  # fmt: skip
def test_endings_of_exceptions(ending: str) -> None:
    """With a module, a bracket, a message, or alone at the end."""
    for text in (
        f"x Harbour{ending}: y",
        f"x) a.b.Harbour{ending}: y",
        f"x Harbour{ending}(ValueError): y",
        f"x Harbour{ending}",
    ):
        assert EXCEPTION.search(text)
    assert not EXCEPTION.search(f"x'Harbour{ending}: y")
    assert EXCEPTION.search("x pkg.Harbour: y")
    assert not EXCEPTION.search("x Harbour: y")


@pytest.mark.parametrize("words", ["Value error, x", "Assertion failed, x", "Input should be x", "Field required", "Extra inputs are x", "For further information visit x"])  # fmt: skip
def test_details_of_validation_errors(words: str) -> None:
    """Lines of their own below the exception's."""
    assert DETAILS.match(words)
    line = f'Traceback (most recent call last):   File "/a.py", line 1, in f     check(x) ValidationError: 1 validation error for M   {words}'
    assert texts(line)[-1].strip() == words


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [("321", True), ("21", False), ("123", False), ("3211", True), ("", False), ("7654321121", True), ("65432121", True), ("543212", False), ("54312121", False), ("32123", False)],
)  # fmt: skip
def test_which_way_round_times_are(stamps: str, expected: bool) -> None:
    """They must fall more than once, and more than four times as often as they rise."""
    assert newest_first(list(stamps)) is expected


def test_numbers_of_mended_blocks() -> None:
    """Plain up to the first mended block, then as each block says."""
    numbers = Numbers(10)
    numbers.note(3, Mended([1, 1, 2], 2))
    numbers.note(4, None)
    numbers.note(2, Mended([2, 1], 5))
    assert [numbers.original(number) for number in (0, 1, 10, 11, 12, 13, 14, 17, 18, 19, 20)] == [
        0,
        1,
        10,
        11,
        11,
        12,
        13,
        16,
        18,
        17,
        17,
    ]
    assert (numbers.lines(19), numbers.lines(20)) == (21, 22)


@pytest.mark.parametrize(
    ("magic", "says"),
    [
        (b"PK\x03\x04", "a zip archive: unpack it first (gzip, zstd, xz and bzip2 are read as they are)"),
        (b"7z\xbc\xaf", "a 7z archive: unpack it first (gzip, zstd, xz and bzip2 are read as they are)"),
        (b"\x04\x22\x4d\x18", "lz4: unpack it first (gzip, zstd, xz and bzip2 are read as they are)"), (b"\x89PNG\r\n", "a picture: give the log as text"),
        (b"\xff\xd8\xff", "a picture: give the log as text"), (b"GIF8", "a picture: give the log as text"), (b"%PDF-", "a PDF: give the log as text"),
        (b"\x7fELF", "a program, not a log: give what it prints (vllm serve … 2>&1 | vllm-triage -)"),
        (b"SQLite format 3", "a database, not a log: give the server's output as text"),
    ],
)  # fmt: skip
def test_what_people_take_for_a_log(magic: bytes, says: str) -> None:
    """Each is named, with what to do."""
    from vllm_triage.classifier.errors import InputError

    with pytest.raises(InputError) as caught:
        list(read_blocks(magic + b"x"))
    assert str(caught.value) == f"the input is {says}"


@pytest.mark.parametrize(
    ("data", "refused"),
    [
        (b"\x01" * 26 + b"x" * 486, True), (b"\x01" * 25 + b"x" * 487, False), (b"\x01" * 200 + b"x" * 311, False), (b"\x7f" * 512, True),
        (b"\0" * 8 + b"\x01" * 504, False), (b"\xff\xfe" + b"\x01" * 600, False), (b"\xfe\xff" + b"\x01" * 600, False), (b"\t\n\r\b\a\f\v\x1b" * 70, False),
    ],
)  # fmt: skip
def test_binary_data(data: bytes, refused: bool) -> None:
    """One control character in twenty of 512 bytes or more; tabs, colours and holes are none."""
    from vllm_triage.classifier.errors import InputError

    if refused:
        with pytest.raises(
            InputError, match=r"^the input is binary data, not a log: give the server's output as text$"
        ):
            list(read_blocks(data))
    else:
        list(read_blocks(data))


def test_sources_one_after_the_other() -> None:
    """Lines are counted on, a missing line end is put between them, empty ones change nothing."""
    blocks = list(read_blocks(join_sources(["a\nb", "", "c\n", "d"])))
    assert b"".join(block.data for block in blocks) == b"a\nb\nc\nd"
    assert blocks == [Block(b"a\nb", 1, 3), Block(b"\n", 2, 0), Block(b"c\n", 3, 2), Block(b"d", 4, 1)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a\n", b"a\n"), (bytearray(b"a"), b"a"), (memoryview(b"abc")[::2], b"ac"), (["a", b"b\n", memoryview(b"c")], b"a\nb\nc\n"), (iter(["a"]), b"a\n"), ([], b""),
        ("\udc80", b"\x80"), ("a\ud83d", b"a\xef\xbf\xbd"), (Chunks([b"a", b"", b"b"]), b"ab"),
    ],
)  # fmt: skip
def test_kinds_of_sources(source: object, text: bytes) -> None:
    """Texts, bytes, lines with and without their ends, halves of characters."""
    assert b"".join(block.data for block in read_blocks(source)) == text  # type: ignore[arg-type]


def test_what_no_log_can_be_read_from() -> None:
    """The type is named."""
    from vllm_triage.classifier.errors import InputError

    with pytest.raises(InputError, match=r"^cannot read a log from int: give a path, text, bytes, a file or lines$"):
        list(read_blocks(7))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^cannot read a log from pieces of type int: give text or bytes$"):
        list(read_blocks([7]))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("text of a log".encode("utf-16-le"), "utf-16-le"), ("text of a log".encode("utf-16-be"), "utf-16-be"), ("text".encode("utf-16-le"), "utf-16-le"),
        ("tex".encode("utf-16-le"), ""), (b"a\0b\0" + b"plain text" * 3, ""),
    ],
)  # fmt: skip
def test_encodings_by_their_zeros(data: bytes, encoding: str) -> None:
    """Eight bytes at least, and most of every other one."""
    expected = data.decode(encoding).encode() if encoding else data.replace(b"\0", b"")
    assert Cleaner().decode(data) == expected


@pytest.mark.parametrize(("size", "kept"), [(63, 63), (64, 64), (200, 64)])
def test_how_much_of_a_request_is_kept(size: int, kept: int) -> None:
    """Its id; what the user wrote goes, up to the end of the line or of what a bar has drawn over."""
    cleaner = Cleaner()
    cleaner.look(b"")
    request = b" Received request ".ljust(size, b"x")
    assert cleaner.clean(b"a" + request + b"\nb") == b"a" + request[:kept] + b"\nb"
    assert cleaner.clean(b"a" + request + b"\rb") == b"a" + request[:kept] + b"\rb"


@pytest.mark.parametrize("sign", ["[0;0m", "[0m", "[39m", "[1;36m", "[36m"])
def test_colours_that_lost_their_escape_character(sign: str) -> None:
    """One of the usual ones in the first lines tells; then all go."""
    cleaner = Cleaner()
    cleaner.look(f"{sign}x".encode())
    rest = "".join(f"[{code}m" for code in ("0;0", "0", "1;31", "0;31", "31", "1", "01;31", "22", "39", "91", "1;91"))
    assert cleaner.clean(f"{rest}x [7m".encode()) == b"x [7m"
    plain = Cleaner()
    plain.look(b"x")
    assert plain.clean(f"{sign}x".encode()) == f"{sign}x".encode()


@pytest.mark.parametrize("sign", [" | ", " \u2502 ", ": ", ":", "| ", "|", "\u2502", ". ", ") ", "\t", " "])
@pytest.mark.parametrize("count", [3, 4])
def test_what_stands_between_a_number_and_its_line(sign: str, count: int) -> None:
    """Of four lines or more that count up."""
    lines = [f"line{letter}" for letter in "abcd"[:count]]
    log = "".join(f"{number}{sign}{line}\n" for number, line in enumerate(lines, 7))
    assert (texts(log) == lines) is (count == 4)
    assert [number for number, _ in read(log)] == list(range(1, count + 1))
