"""The file tools: strict templates, exact counts, whole files, one folder."""

import csv
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mendgraph.tools.shipped.csv_template import Template
from mendgraph.tools.shipped.files import file_tools
from mendgraph.tools.shipped.paths import Root, whole_file

PAGES = [{"hour": "00", "pv": 3}, {"hour": "01", "pv": 4}]
ALL_TEXT = {"hour": "string", "pv": "string"}


@pytest.fixture
def kit(tmp_path):
    return file_tools(tmp_path)


def test_rows_without_a_template_are_written_as_they_are(kit, tmp_path):
    """Columns are those of the rows, in the order they first appear."""
    found = kit["csv_writer"].invoke({"path": "a/x.csv", "rows": PAGES})
    target = tmp_path / "a" / "x.csv"
    assert target.read_text() == "hour,pv\n00,3\n01,4\n"
    assert found["path"] == str(target.resolve())
    assert (found["rows"], found["size_bytes"]) == (2, target.stat().st_size)
    assert found["columns"] == ["hour", "pv"]


def test_a_strict_template_leaves_rows_out_and_still_succeeds(kit, tmp_path):
    """The demo's second fault: success, zero rows, zero bytes, and counts that tell."""
    call = {"path": "x.csv", "rows": PAGES, "template": ALL_TEXT}
    found = kit["csv_writer"].invoke(call)
    assert (found["rows"], found["size_bytes"], found["skipped"]) == (0, 0, 2)
    assert found["mismatches"][0] == "row 0, column 'pv': int, template says string"
    assert (tmp_path / "x.csv").read_bytes() == b""


def test_rows_that_fit_are_written_and_the_others_counted(kit, tmp_path):
    """Only the rows of another type are missing."""
    rows = [{"hour": "00", "pv": "3"}, *PAGES[1:], {"hour": "02", "pv": None}]
    found = kit["csv_writer"].invoke(
        {"path": "x.csv", "rows": rows, "template": ALL_TEXT}
    )
    assert (tmp_path / "x.csv").read_text() == "hour,pv\n00,3\n02,\n"
    assert (found["rows"], found["skipped"], found["null_counts"]["pv"]) == (2, 1, 1)


def test_casting_mends_the_mismatch(kit, tmp_path):
    """With `cast` the same call writes every row."""
    call = {"path": "x.csv", "rows": PAGES, "template": ALL_TEXT}
    found = kit["csv_writer"].invoke({**call, "on_mismatch": "cast"})
    assert (tmp_path / "x.csv").read_text() == "hour,pv\n00,3\n01,4\n"
    assert (found["rows"], found["skipped"], found["mismatches"]) == (2, 0, [])


def test_error_refuses_and_keeps_the_earlier_file(kit, tmp_path):
    """A refused call changes no file."""
    (tmp_path / "x.csv").write_text("old")
    call = {"path": "x.csv", "rows": PAGES, "template": ALL_TEXT}
    with pytest.raises(TypeError, match="column 'pv': int, template says string"):
        kit["csv_writer"].invoke({**call, "on_mismatch": "error"})
    assert (tmp_path / "x.csv").read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["x.csv"]


def test_what_cannot_be_cast_is_named(kit):
    """Row, column and value are in the message; nothing is lost in silence."""
    call = {
        "path": "x.csv",
        "rows": [{"pv": "three"}],
        "template": {"pv": "integer"},
        "on_mismatch": "cast",
    }
    with pytest.raises(ValueError, match=r"row 0, column 'pv'.*'three'"):
        kit["csv_writer"].invoke(call)


@pytest.mark.parametrize(
    ("kind", "given_value", "expected"),
    [
        ("integer", "7", 7),
        ("integer", 7.0, 7),
        ("integer", "90071992547409931", 90071992547409931),
        ("number", "1.5", 1.5),
        ("boolean", "True", True),
        ("boolean", 0, False),
        ("string", 2.5, "2.5"),
        ("string", True, "True"),
    ],
)
def test_casts_keep_the_value(kind, given_value, expected):
    """Only conversions without loss are made."""
    template = Template({"a": kind}, "cast")
    assert list(template.fitting(["a"], [{"a": given_value}])) == [[expected]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [("integer", 1.5), ("boolean", "yes"), ("number", "x"), ("integer", [1])],
)
def test_lossy_casts_are_refused(kind, value):
    """A fraction, a word, a list: refused and not rounded."""
    with pytest.raises(ValueError, match="cannot cast"):
        list(Template({"a": kind}, "cast").fitting(["a"], [{"a": value}]))


@given(st.lists(st.one_of(st.integers(), st.text(), st.none(), st.booleans())))
def test_every_row_is_either_written_or_counted(values):
    """Nothing disappears without being counted."""
    template = Template({"a": "string"}, "skip")
    kept = list(template.fitting(["a"], [{"a": value} for value in values]))
    assert len(kept) + template.skipped == len(values)
    assert all(row[0] is None or isinstance(row[0], str) for row in kept)


def test_columns_left_out_are_named(kit):
    """A template narrower than the rows loses nothing in silence."""
    call = {"path": "x.csv", "rows": PAGES, "columns": ["hour"]}
    assert kit["csv_writer"].invoke(call)["left_out_columns"] == ["pv"]


def test_csv_reader_keeps_the_first_rows_and_counts_all(kit, tmp_path):
    """Counts cover the whole file, rows only its beginning."""
    lines = [f"{n},{'' if n % 4 == 0 else n}" for n in range(1_000)]
    (tmp_path / "x.csv").write_text("\n".join(["a,b", *lines, "ragged"]))
    found = kit["csv_reader"].invoke({"path": "x.csv", "max_rows": 2})
    assert found["rows"] == [{"a": "0", "b": ""}, {"a": "1", "b": "1"}]
    assert (found["row_count"], found["ragged_rows"]) == (1_001, 1)
    assert found["null_counts"] == {"a": 0, "b": 251}
    assert found["truncated"] is True


def test_an_empty_file_is_read_as_nothing(kit, tmp_path):
    """No header, no rows, no error."""
    (tmp_path / "x.csv").write_bytes(b"")
    found = kit["csv_reader"].invoke({"path": "x.csv"})
    assert (found["columns"], found["row_count"], found["size_bytes"]) == ([], 0, 0)


def test_a_byte_order_mark_is_no_part_of_the_first_column(kit, tmp_path):
    """Files that other programs marked are read right, and can be written so."""
    call = {"path": "x.csv", "rows": [{"小时": "1"}], "encoding": "utf-8-sig"}
    kit["csv_writer"].invoke(call)
    assert (tmp_path / "x.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    found = kit["csv_reader"].invoke({"path": "x.csv"})
    assert (found["columns"], found["encoding"]) == (["小时"], "utf-8-sig")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_marked_text_is_read_in_its_encoding(kit, tmp_path, encoding):
    """The byte order mark decides, else UTF-8."""
    (tmp_path / "x.txt").write_text("访问量 10\n", encoding=encoding)
    found = kit["file_reader"].invoke({"path": "x.txt"})
    assert (found["text"], found["encoding"]) == ("访问量 10\n", encoding)
    assert found["truncated"] is False


def test_unknown_encodings_fail_and_are_not_guessed(kit, tmp_path):
    """Naming the encoding mends it."""
    (tmp_path / "x.txt").write_bytes("访问量".encode("gb18030"))
    with pytest.raises(UnicodeDecodeError):
        kit["file_reader"].invoke({"path": "x.txt"})
    found = kit["file_reader"].invoke({"path": "x.txt", "encoding": "gb18030"})
    assert found["text"] == "访问量"


def test_a_character_cut_by_the_limit_is_dropped(kit, tmp_path):
    """The limit may fall inside a character; the text stays well formed."""
    (tmp_path / "x.txt").write_text("访问", encoding="utf-8")
    found = kit["file_reader"].invoke({"path": "x.txt", "max_bytes": 4})
    assert (found["text"], found["truncated"], found["size_bytes"]) == ("访", True, 6)


@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "", ".", "link/passwd"]
)
@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_paths_out_of_the_folder_are_refused(kit, tmp_path, path):
    """Upwards, absolute, the folder itself, through a link: refused."""
    (tmp_path / "link").symlink_to("/etc")
    with pytest.raises(PermissionError, match="allowed folder"):
        kit["file_reader"].invoke({"path": path})


def test_absolute_paths_inside_the_folder_are_taken(kit, tmp_path):
    """What one tool returned as path is what another takes."""
    written = kit["csv_writer"].invoke({"path": "x.csv", "rows": PAGES})
    assert Root(tmp_path).inside(written["path"]) == (tmp_path / "x.csv").resolve()
    assert kit["csv_reader"].invoke({"path": written["path"]})["row_count"] == 2


def test_a_broken_write_leaves_nothing(tmp_path):
    """Neither the final name nor a part stays behind."""

    def break_off():
        with whole_file(tmp_path / "x") as stream:
            stream.write("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="full"):
        break_off()
    assert list(tmp_path.iterdir()) == []


def test_outputs_are_plain_json(kit):
    """An output can be stored as it is."""
    found = kit["csv_writer"].invoke({"path": "x.csv", "rows": PAGES})
    assert json.loads(json.dumps(found)) == found


def test_values_with_separators_come_back_whole(kit, tmp_path):
    """Quotes, commas and line breaks survive the file."""
    rows = [{"a": 'say "hi", all\nof you'}]
    kit["csv_writer"].invoke({"path": "x.csv", "rows": rows})
    with (tmp_path / "x.csv").open(newline="") as stream:
        assert list(csv.DictReader(stream)) == rows
