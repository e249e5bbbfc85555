"""The reader of files that users bring: kinds of files, limits, archives, names on terminals."""

import gzip
import io
import os
import socket
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from pathlib import Path

import pytest

from hw.emit import user_files
from hw.emit.user_files import FileError, members, parsing, read, read_part, read_text, shown


def bomb(size: int) -> bytes:
    """Return zeros compressed by gzip, a block at a time."""
    press = zlib.compressobj(9, wbits=31)
    block = bytes(1 << 20)
    return b"".join(press.compress(block) for _ in range(size >> 20)) + press.flush()


def archive(*files: tuple[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", kind) as zipped:
        warnings.simplefilter("ignore")  # of names twice
        for name, data in files:
            zipped.writestr(zipfile.ZipInfo(name), data, kind)
    return buffer.getvalue()


def refused(call, *arguments, **options) -> str:
    """Return the one line of a refusal."""
    with pytest.raises(FileError) as error:
        call(*arguments, **options)
    line = str(error.value)
    assert line.isprintable(), repr(line)
    return line


def test_reads_what_is_there(tmp_path):
    path = tmp_path / "a.txt"
    for data in (b"", b"text", b"\x1f\x8b"):
        path.write_bytes(data)
        assert read(path) == data
    path.write_bytes(gzip.compress(b"one") + gzip.compress(b"two"))
    assert read(path, unzip=True) == b"onetwo"
    assert read(path).startswith(b"\x1f\x8b")
    (tmp_path / "link").symlink_to(path)
    assert read(tmp_path / "link", unzip=True) == b"onetwo"


def test_refuses_what_is_no_file(tmp_path):
    """At once: a pipe without a writer would have it wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "to_pipe").symlink_to("pipe")
    (tmp_path / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as here:
        here.bind(str(tmp_path / "socket"))
    for name, kind in (("pipe", "pipe"), ("to_pipe", "pipe"), ("socket", "socket"), ("", "folder")):
        path = tmp_path / name
        assert refused(read, path) == f"{path}: must be a regular file, not a {kind}"
    for name in ("/dev/zero", "/dev/null", "/dev/tty"):
        assert refused(read, Path(name)) == f"{name}: must be a regular file, not a device"
    for name in ("loop", "x" * 300, "pipe/inside"):
        assert refused(read, tmp_path / name).count(": ") == 1
    assert refused(read, tmp_path / "a\0b").endswith("b: must have no zero byte in its name")
    with pytest.raises(FileNotFoundError) as error:
        read(tmp_path / "none")
    assert error.value.filename == str(tmp_path / "none")
    assert "must stay as it is" in refused(read, Path("/proc/self/environ"))


def test_refuses_what_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"text")

    def forbid(name: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied", name)

    monkeypatch.setattr(user_files, "_open", forbid)
    assert refused(read, path) == f"{path}: Permission denied"


def test_a_limit_holds_and_can_be_raised(tmp_path, monkeypatch):
    path = tmp_path / "a"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    assert "at most 134,217,728 bytes, not 1,099,511,627,776; CARRYSAVE_MAX_SIZE=1G" in refused(
        read, path
    )
    path.write_bytes(bytes(1025))
    assert refused(read, path, 1024)
    assert len(read(path, 1025)) == 1025
    monkeypatch.setenv("CARRYSAVE_MAX_SIZE", "1K")
    assert refused(read, path)
    monkeypatch.setenv("CARRYSAVE_MAX_SIZE", "2K")
    assert len(read(path, 5)) == 1025
    for text in ("many", "1.5G", "-1", "1P", "9" * 13, "1k", "\u0661"):
        monkeypatch.setenv("CARRYSAVE_MAX_SIZE", text)
        with pytest.raises(ValueError, match="CARRYSAVE_MAX_SIZE must be bytes, such as 500M"):
            read(path)


@pytest.mark.parametrize("kind", ["gzip", "zip"])
def test_bombs_take_little_memory(tmp_path, kind):
    path = tmp_path / "bomb"
    if kind == "gzip":
        path.write_bytes(bomb(1 << 28))
    else:
        path.write_bytes(archive(*((f"{n}", bytes(1 << 24)) for n in range(4))))
        # One that says less than it holds is damaged, and read no further than it says.
        data = archive(("a", bytes(1 << 24)))
        lying = data.replace(struct.pack("<I", 1 << 24), struct.pack("<I", 1 << 10))
        (tmp_path / "lying").write_bytes(lying)
        assert lying != data
        assert "CRC-32" in refused(members, tmp_path / "lying", 1 << 25)
    tracemalloc.start()
    try:
        if kind == "gzip":
            line = refused(read, path, 1 << 25, unzip=True)
        else:
            line = refused(members, path, 1 << 25)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()
    assert "must be at most 33,554,432 bytes, unpacked, not more; CARRYSAVE_MAX_SIZE=1G" in line


def test_damaged_gzip_is_an_error_of_the_file(tmp_path):
    path, good = tmp_path / "a.gz", gzip.compress(bytes(range(256)), mtime=0)
    for n in range(2, len(good)):
        path.write_bytes(good[:n])
        assert refused(read, path, unzip=True).startswith(f"{path}: gzip: ")
    path.write_bytes(good + b"more")
    assert "gzip" in refused(read, path, unzip=True)


def test_text_is_utf_8_with_the_line_of_what_is_not(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("ä\n".encode() + b"b\xff")
    assert refused(read_text, path) == f"{path}: line 2: must be UTF-8, not invalid start byte"
    path.write_bytes("ä".encode())
    assert read_text(path) == "ä"


def test_members_of_an_archive(tmp_path):
    path = tmp_path / "a.zip"
    files = (("b", b"1"), ("../a", b"two"), ("c\n\x1b[2J", b""))
    for kind in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        path.write_bytes(archive(*files, kind=kind))
        assert list(members(path).items()) == list(files)


def test_archives_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    good = archive(("a", b"text" * 9))
    path.write_bytes(archive(("\x1b", b"1"), ("\x1b", b"2")))
    assert refused(members, path) == f"{path}: member '\\x1b': must be there once, not twice"
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        path.write_bytes(archive(("a", b"1"), kind=kind))
        assert "must be stored or deflated" in refused(members, path)
    path.write_bytes(b"no archive")
    assert refused(members, path) == f"{path}: File is not a zip file"
    at = good.rindex(b"PK\1\2")
    encrypted = good[: at + 8] + struct.pack("<H", 1) + good[at + 10 :]
    path.write_bytes(encrypted)
    assert "encrypted" in refused(members, path)
    path.write_bytes(good[:31] + b"\xff" + good[32:])
    assert refused(members, path)
    for n in range(len(good)):
        path.write_bytes(good[:n])
        assert refused(members, path)
    monkeypatch.setattr(user_files, "_MEMBERS", 2)
    path.write_bytes(archive(("a", b""), ("b", b"")))
    assert len(members(path)) == 2
    path.write_bytes(archive(("a", b""), ("b", b""), ("c", b"")))
    assert "must have at most 2 members" in refused(members, path)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain name, ä 漢", "plain name, ä 漢"),
        ("\x1b]0;x\x07\n\r\t\x00\x7f\x9b", r"\x1b]0;x\x07\n\r\t\x00\x7f\x9b"),
        ("a\u202eb\u2066c\u200d\u2028\u00a0", r"a\u202eb\u2066c\u200d\u2028\xa0"),
        ("\udcff\ue000\U000e0041", r"\udcff\ue000\U000e0041"),
        ("x" * 201, "x" * 200 + "..."),
    ],
)
def test_names_are_shown_without_what_a_terminal_obeys(text, line):
    assert shown(text) == line


def test_what_a_library_raises_becomes_one_line():
    with (
        pytest.raises(FileError, match=r"^a\\nb: tensor 'x': one two$"),
        parsing(Path("a\nb"), "tensor 'x'"),
    ):
        raise RuntimeError("one\n two")


def test_reads_a_part(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(100)))
    assert read_part(path, 90, 10) == bytes(range(90, 100))
    assert read_part(path, 98, None) == b"bc"
    assert read_part(path, 100, 0) == b""
    for start, count, part in ((91, 10, "91..101"), (101, None, "101..100"), (101, 0, "101..101")):
        with pytest.raises(ValueError, match=f"bytes {part} are beyond the end of file"):
            read_part(path, start, count)
    with pytest.raises(FileError, match="must be at most 99 bytes, not 100"):
        read_part(path, 0, 1, 99)
    with pytest.raises(FileError, match="must be a regular file, not a folder"):
        read_part(tmp_path, 0, 1)
