"""What folders, patterns, archives and URLs hold, in a steady order."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard

from tests.service.batch.logs import fleet, no_cache
from vllm_triage.classifier.errors import InputError
from vllm_triage.service.batch import archives
from vllm_triage.service.batch.many import is_many
from vllm_triage.service.batch.reading import source_of
from vllm_triage.service.batch.sources import count, find


def tar(files: dict[str, str], mode: str = "w") -> bytes:
    """Return a tar archive, packed as its mode says."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as opened:  # type: ignore[call-overload]
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            opened.addfile(info, io.BytesIO(text.encode()))
    return out.getvalue()


def names(*sources: object) -> list[str]:
    """Return the names of the logs of some sources."""
    return [log.name for log in find([str(source) for source in sources])]


def test_folders_are_walked_in_order_without_what_is_no_log(tmp_path: Path) -> None:
    """Hidden files, pages and pictures beside logs are left out; a rotated log has any ending."""
    for name in ("b.log", "a.log.1", ".hidden", "README.md", "deep/c", ".git/d.log", "plot.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert names(tmp_path) == [str(tmp_path / name) for name in ("a.log.1", "b.log", "deep/c")]
    assert count([str(tmp_path)]) == 3


def test_what_is_named_is_listed_whatever_its_name(tmp_path: Path) -> None:
    """Nobody names a file that is none of theirs."""
    (tmp_path / "log.md").write_text("x")
    assert names(tmp_path / "log.md") == [str(tmp_path / "log.md")]


def test_a_folder_within_that_is_closed_is_told_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is named itself is an error."""
    for name in ("a.log", "closed/b.log", "open/c.log"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    usual = os.scandir

    def scan(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    monkeypatch.setattr(os, "scandir", scan)

    found = {log.name.rpartition("/")[2]: log.problem for log in find([str(tmp_path)])}

    assert found == {"a.log": "", "closed": "cannot be listed", "c.log": ""}
    with pytest.raises(InputError, match=r"closed: cannot be listed \(Permission denied\)"):
        list(find([str(tmp_path / "closed")]))


def test_patterns(tmp_path: Path) -> None:
    """A star stands within a folder, two for folders; a folder that fits is walked."""
    fleet(tmp_path)
    assert len(names(tmp_path / "node-0" / "*.log")) == 3
    assert len(names(tmp_path / "**" / "*.log")) == 6
    assert len(names(tmp_path / "node-*")) == 6


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    """A wrong name is no empty list."""
    with pytest.raises(InputError, match="no such file or folder"):
        names(tmp_path / "gone")
    with pytest.raises(InputError, match="nothing has a name like this"):
        names(tmp_path / "*.log")


@pytest.mark.parametrize("ending", ["tar", "tgz", "tar.gz", "tar.xz", "tar.bz2", "tar.zst", "zip"])
def test_members_of_archives_are_logs(tmp_path: Path, ending: str) -> None:
    """However it is packed, an archive is as good as a folder."""
    files = {"logs/a.log": no_cache(), "logs/.b": "hidden", "logs/README.md": "no log"}
    path = tmp_path / f"starts.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as opened:
            for name, text in files.items():
                opened.writestr(name, text)
    elif ending == "tar.zst":
        path.write_bytes(zstandard.ZstdCompressor().compress(tar(files)))
    else:
        path.write_bytes(tar(files, f"w:{ending.rpartition('.')[2].replace('tgz', 'gz').replace('tar', '')}"))
    (log,) = find([str(path)])
    assert log.name == f"{path}!/logs/a.log"
    assert log.data == no_cache().encode()
    assert [found.name for found in find([log.name])] == [log.name]


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
def test_large_members_are_read_where_they_lie(tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large to travel is looked for again by who reads it."""
    monkeypatch.setattr(archives, "INLINE", 10)
    path = tmp_path / f"starts.{ending}"
    files = {"a.log": "short", "b.log": no_cache(), "c.log": "x" * 50}
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as opened:
            for name, text in files.items():
                opened.writestr(name, text)
    else:
        path.write_bytes(tar(files, "w:gz"))
    listed = {log.name.rpartition("/")[2]: log for log in find([str(path)])}
    assert (listed["a.log"].data, listed["b.log"].data) == (b"short", None)
    with source_of(listed["b.log"]) as source:
        assert source.read() == no_cache().encode()  # type: ignore[union-attr]


def test_a_name_that_comes_twice_is_two_logs(tmp_path: Path) -> None:
    """Tar appends what was changed."""
    path = tmp_path / "a.tar"
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as opened:
        for text in (b"one", b"two!"):
            info = tarfile.TarInfo("a.log")
            info.size = len(text)
            opened.addfile(info, io.BytesIO(text))
    path.write_bytes(out.getvalue())
    assert [(log.name, log.data) for log in find([str(path)])] == [
        (f"{path}!/a.log", b"one"),
        (f"{path}!/a.log#2", b"two!"),
    ]


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
def test_a_damaged_archive_is_a_log_that_cannot_be_read(tmp_path: Path, ending: str) -> None:
    """What comes before the damage counts, the rest is told."""
    path = tmp_path / f"cut.{ending}"
    whole = tar({"a.log": "one", "b.log": "two" * 5000}, "w")
    path.write_bytes(whole[:2000] if ending == "tar.gz" else b"PK\x03\x04nothing")
    *before, last = find([str(path)])
    assert [log.data for log in before if not log.problem] == ([b"one"] if ending == "tar.gz" else [])
    assert last.problem


def test_an_encrypted_member_is_told(tmp_path: Path) -> None:
    """There is no password to ask for."""
    path = tmp_path / "locked.zip"
    with zipfile.ZipFile(path, "w") as opened:
        opened.writestr("a.log", "x")
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    path.write_bytes(data)
    (log,) = find([str(path)])
    assert "encrypted" in log.problem


def test_ids_change_with_the_file(tmp_path: Path) -> None:
    """The same file has the same id, one that grew another."""
    path = tmp_path / "a.log"
    path.write_text("one")
    (first,), (again,) = find([str(path)]), find([str(path)])
    path.write_text("one and more")
    (grown,) = find([str(path)])
    assert first.id == again.id != grown.id


def test_what_stands_for_many(tmp_path: Path) -> None:
    """A file is one log, whatever signs are in its name."""
    odd = tmp_path / "odd[1].log"
    odd.write_text("x")
    assert [is_many(str(name)) for name in (odd, tmp_path, "*.log", "a.tar.gz!/b", "s3://b/k", "gone.log")] == [
        False, True, True, True, True, False,
    ]  # fmt: skip


def _header(kind: bytes = tarfile.REGTYPE, size: int = 1 << 40) -> bytes:
    info = tarfile.TarInfo("big.log")
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (_header() + b"x" * 2048, "cut off"),
        (_header(size=1 << 62), "cut off"),
        (_header(tarfile.GNUTYPE_LONGNAME, 1 << 30), "a header of 1073741824 bytes"),
        (_header(tarfile.XHDTYPE, 1 << 40), "a header of"),
        (_header(tarfile.GNUTYPE_SPARSE, 512) + b"x" * 512, "sparse"),
    ],
)
def test_an_archive_that_promises_more_than_it_holds_ends_in_time(tmp_path: Path, content: bytes, told: str) -> None:
    """Only what is there is read, not what the headers promise, and the reason for a refusal is said."""
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    problems = []
    for log in find([str(path)]):
        try:
            with source_of(log) as source:
                assert hasattr(source, "read")
                assert len(source.read()) <= len(content)
        except InputError as error:
            problems.append(str(error))
    assert any(told in problem for problem in problems), problems
