"""Files as people have them: encodings, archives, digits, pipes, and what to say."""

from __future__ import annotations

import bz2
import gzip
import os
import re
import threading

import numpy as np
import pytest

from sklearn_ltr.datasets import (
    dump_qrels,
    dump_run,
    join_run,
    load_letor,
    load_qrels,
    load_run,
)

MARK = b"\xef\xbb\xbf"
LINES = {
    load_letor: "2 qid:7 1:0.5 3:1\n0 qid:7 2:4\n",
    load_qrels: "301 0 a 1\n301 0 b 0\n",
    load_run: "301 Q0 a 1 2.5 bm25\n301 Q0 b 2 1.5 bm25\n",
}
every_reader = pytest.mark.parametrize("read", LINES)


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def equal(found, expected):
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


# --- forms of a file that are read ----------------------------------------------------


@every_reader
@pytest.mark.parametrize(
    "change",
    [
        lambda text: MARK + text,
        lambda text: text.replace(b"\n", b"\r\n"),
        lambda text: text.replace(b"\n", b"\r"),
        lambda text: text.rstrip(b"\n"),
        lambda text: b"\n" + text + b"\n\n",
        lambda text: text.replace(b" ", b"\t"),
        gzip.compress,
        bz2.compress,
        lambda text: gzip.compress(MARK + text),
    ],
    ids=["mark", "CRLF", "CR", "no end", "empty lines", "tabs", "gz", "bz2", "both"],
)
def test_forms_of_the_same_lines_are_read_alike(tmp_path, read, change):
    text = LINES[read].encode()
    expected = read(write(tmp_path / "plain.txt", text))
    found = read(write(tmp_path / "other.txt", change(text)))
    if read is load_letor and change(text).startswith(b"\n"):
        found.documents = expected.documents  # numbers of lines
    equal(found, expected)


@every_reader
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are of POSIX")
def test_a_pipe_is_read(tmp_path, read):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(LINES[read],))
    writer.start()
    found = read(pipe)
    writer.join()
    equal(found, read(write(tmp_path / "file.txt", LINES[read])))


@pytest.mark.parametrize("read", [load_qrels, load_run])
def test_lines_that_begin_with_a_number_sign_are_comments(tmp_path, read):
    text = "# made by hand\n" + LINES[read] + "#301 0 c 1\n"
    found = read(write(tmp_path / "file.txt", text))
    assert found.documents.tolist() == ["a", "b"]


def test_what_follows_the_tag_is_ignored_and_tags_may_differ(tmp_path):
    text = "1 Q0 a#b 1 2.5 bm25 and more\n1 Q0 b 2 1.5 other\n"
    run = load_run(write(tmp_path / "run.txt", text))
    assert run.documents.tolist() == ["a#b", "b"]
    assert run.tag == "other"


def test_whole_grades_may_be_written_as_decimals(tmp_path):
    text = "1 0 a 1.0\n1 0 b +2\n1 0 c -1\n"
    assert load_qrels(write(tmp_path / "q.txt", text)).grades.tolist() == [1, 2, -1]


def test_only_white_space_of_ascii_separates_fields(tmp_path):
    text = "1 Q0 a\u00a0b 1 2.5 t\n1 Q0 c\u2028d 2 1.5 t\n"
    run = load_run(write(tmp_path / "run.txt", text))
    assert run.documents.tolist() == ["a\u00a0b", "c\u2028d"]
    again = tmp_path / "again.txt"
    dump_run(again, run.scores, groups=run.groups, documents=run.documents, tag="t")
    equal(load_run(again), run)


def test_letor_files_are_judgements_of_a_run(tmp_path):
    text = "2 qid:{0} 1:1 # docid = a\n0 qid:{0} 1:2 # docid = b\n"
    for topic in ("7", "007"):
        letor = load_letor(write(tmp_path / "l.txt", text.format(topic)))
        qrels = {
            "groups": letor.groups.astype(str),
            "documents": letor.documents,
            "grades": letor.target,
        }
        run = load_run(write(tmp_path / "r.txt", f"{topic} Q0 a 1 2.5 t\n"))
        joined = join_run(run, qrels)
        assert (joined.y_true.tolist(), joined.y_missing.tolist()) == ([2], [0])


def test_integers_of_64_bits_are_exact(tmp_path):
    ends = [-(2**63), 2**63 - 1]
    text = "".join(f"1 qid:{end} 1:1 # docid = {end}\n" for end in ends)
    assert load_letor(write(tmp_path / "l.txt", text)).groups.tolist() == ends
    text = f"1 0 a {ends[0]}\n1 0 b {ends[1]}.0\n"
    assert load_qrels(write(tmp_path / "q.txt", text)).grades.tolist() == ends


def test_zeros_in_front_of_a_query_are_kept_so_that_runs_match(tmp_path):
    letor = load_letor(write(tmp_path / "l.txt", "1 qid:007 1:1\n0 qid:7 1:2\n"))
    assert letor.groups.tolist() == ["007", "7"]
    run = load_run(write(tmp_path / "r.txt", "007 Q0 1 1 2.5 t\n7 Q0 2 1 1.5 t\n"))
    assert run.groups.tolist() == letor.groups.tolist()


def test_ids_of_files_with_and_without_zeros_meet_as_text(tmp_path):
    zeros = load_letor(write(tmp_path / "a.txt", "1 qid:007 1:1\n0 qid:12 1:2\n"))
    none = load_letor(write(tmp_path / "b.txt", "1 qid:7 1:1\n0 qid:12 1:2\n"))
    assert (zeros.groups.dtype.kind, none.groups.dtype.kind) == ("U", "i")
    assert zeros.groups.astype(str).tolist() == ["007", "12"]
    assert none.groups.astype(str).tolist() == ["7", "12"]
    assert np.concatenate([zeros.groups, none.groups]).tolist() == "007 12 7 12".split()
    run = load_run(write(tmp_path / "r.txt", "7 Q0 1 1 2.5 t\n"))
    qrels = {"groups": none.groups, "documents": none.documents, "grades": none.target}
    with pytest.raises(TypeError, match=r"give strings in both.*groups.astype\(str\)"):
        join_run(run, qrels)
    qrels["groups"] = none.groups.astype(str)
    assert join_run(run, qrels).y_true.tolist() == [1]


def test_the_rank_of_a_run_is_ignored_whatever_it_holds(tmp_path):
    text = "1 Q0 a 1_0 1 t\n1 Q0 b first 2 t\n"
    assert load_run(write(tmp_path / "r.txt", text)).scores.tolist() == [1, 2]


def test_scores_are_compared_in_double_precision(tmp_path):
    dump_run(
        tmp_path / "r.txt", [1.0, 1.0 + 1e-12], groups=[1, 1], documents=["b", "a"]
    )
    dump_qrels(tmp_path / "q.txt", [0, 1], groups=[1, 1], documents=["b", "a"])
    joined = join_run(load_run(tmp_path / "r.txt"), load_qrels(tmp_path / "q.txt"))
    assert joined.y_true[joined.y_score.argmax()] == 1


# --- features from 0 ------------------------------------------------------------------


def test_features_are_numbered_as_said(tmp_path):
    one = write(tmp_path / "1.txt", "1 qid:1 1:5 2:6\n0 qid:1 1:7\n")
    zero = write(tmp_path / "0.txt", "1 qid:1 0:5 2:6\n0 qid:1 1:7\n")
    assert load_letor(one).data.tolist() == [[5, 6], [7, 0]]
    assert load_letor(one, zero_based=True).data.tolist() == [[0, 5, 6], [0, 7, 0]]
    for option in (True, "auto"):
        letor = load_letor(zero, zero_based=option)
        assert letor.data.tolist() == [[5, 0, 6], [0, 7, 0]]
        assert letor.zero_based
    with pytest.warns(UserWarning, match="numbered from 1, since none has"):
        letor = load_letor(one, zero_based="auto", n_features=3)
    assert letor.data.tolist() == [[5, 6, 0], [7, 0, 0]]
    assert not letor.zero_based
    with pytest.raises(ValueError, match="line 1: feature 0 is below 1: give zero_bas"):
        load_letor(zero)
    with pytest.raises(ValueError, match="zero_based"):
        load_letor(zero, zero_based="yes")


# --- what is refused ------------------------------------------------------------------

L, Q, R = load_letor, load_qrels, load_run
BAD = [
    (L, "1_0 qid:1 1:1\n", "line 1: the grade is not a number: '1_0'"),
    (L, "\uff11 qid:1 1:1\n", "line 1: the grade is not a number"),
    (L, "1 qid:1_0 1:1\n", "line 1: 'qid:' and a number must follow the grade"),
    (L, "1 qid:\uff11 1:1\n", "line 1: 'qid:' and a number must follow the grade"),
    (L, "1 qid:1 1_0:1\n", "line 1: '1_0:1' is no feature"),
    (L, "1 qid:1 1:1_0\n", "line 1: '1:1_0' is no feature"),
    (L, "1 qid:1 \uff11:1\n", "line 1: '\uff11:1' is no feature"),
    (L, "1 qid:1 1:1\n1 qid:1 1:1e999\n", "line 2: feature 1 is infinite in float64"),
    (L, "1e999 qid:1 1:1\n", "line 1: the grade must be finite"),
    (L, "1 qid:99999999999999999999 1:1\n", "line 1: 'qid:99999999999999999999' is b"),
    (
        L,
        "1 qid:1 99999999999:1\n",
        "line 1: feature '99999999999' is beyond 2147483647",
    ),
    (L, f"1 qid:1 {2**63}:1\n", f"line 1: feature '{2**63}' is beyond"),
    (L, "1 qid:1 " + "9" * 5000 + ":1\n", "line 1: feature '9+ ... 9+' is beyond"),
    (L, "1 qid:1 " + "0" * 5000 + "1:1\n", "line 1: '0+ ... 0+1:1' is no feature"),
    (L, "1 qid:" + "9" * 5000 + " 1:1\n", "line 1: 'qid:9+ ... 9+' is beyond integ"),
    (L, "1 qid:1 1:" + "1" * 90 + "x\n", "line 1: '1:1+ ... 1+x' is no feature"),
    (L, "1" * 90 + "x qid:1 1:1\n", "line 1: the grade is not a number: '1+ ... 1+x'"),
    (L, "1\n", "line 1: 'qid:' and a number must follow the grade, not the end of the"),
    (L, "1 qid:1 -1:1\n", "line 1: '-1:1' is no feature"),
    (L, "1 qid:1 1:1 1:2\n", "line 1: feature 1 is there twice: leave one out"),
    (L, "1 qid:1 2:1 1:2 2:2\n", "line 1: feature 2 is there twice: leave one out"),
    (L, "1 qid:1 2:1\n1 qid:1 2:1 0:2\n", "line 2: feature 0 is below 1: give zero_b"),
    (L, "1 qid:1 2:1 1:1\n1 qid:1 2:1 x:2\n", "line 2: 'x:2' is no feature"),
    (
        L,
        "1 2:1\n",
        r"has the sizes of queries \(.query, .group\), give its path",
    ),
    (L, "1 qid:1 1:1 # \xe9\n0 qid:1 1:\xe9\n".encode("latin-1"), "line 2: "),
    (L, "4 qid:1 # 7555 Rambo\n0 qid:1 # 1370 Rambo III\n", "line 1: no features, nor"),
    (L, "", "holds no documents"),
    (Q, "301 0 a 99999999999999999999\n", "line 1: the grade is beyond integers of 64"),
    (Q, "301 0 a " + "9" * 5000 + "\n", "line 1: the grade is beyond integers of 64"),
    (Q, "301 0 a 1_0\n", "line 1: the grade is not an integer, '1_0'"),
    (Q, "301 0 a \uff11\n", "line 1: the grade is not an integer"),
    (Q, "301 0 a 1.5\n", "line 1: the grade is not an integer, '1.5'"),
    (Q, "301 0 \xe9 1\n".encode("latin-1"), "line 1: .* is not in UTF-8: convert"),
    (L, LINES[L].encode() + MARK + b"1 qid:1 1:1\n", "line 3: a byte-order mark ins"),
    (Q, b"1 0 a 1\n" + MARK + b"1 0 b 1\n", "line 2: a byte-order mark inside"),
    (Q, "301 0 a 1\n301 0 a 1\n", "line 2: document 'a' of topic '301' is in line 1"),
    (R, "301 Q0 a 1 1_0 t\n", "line 1: the score is not a number: '1_0'"),
    (R, "301 Q0 a 1 1e999 t\n", "line 1: the score is beyond float64"),
    (R, "301 Q0 a 1 -inf t\n", "line 1: the score is '-inf': leave documents that"),
    (R, "301 Q0 a 1\n", "line 1: 4 fields instead of the 6"),
    (R, b"301 Q0 \xe9 1 2.0 t\n", "line 1: .* is not in UTF-8: convert"),
]


@pytest.mark.parametrize(("read", "content", "message"), BAD)
def test_an_error_names_file_and_line(tmp_path, read, content, message):
    path = write(tmp_path / "file.txt", content)
    with pytest.raises(ValueError, match=message) as raised:
        read(path)
    assert raised.type is ValueError
    assert "file.txt" in str(raised.value)


@pytest.mark.parametrize(
    "space", ["\xa0", "\u3000", "\u2028", "\x85", "\ufeff", "\x1c"]
)
@pytest.mark.parametrize(
    "line",
    [
        "1{} qid:1 1:1",
        "1 {}qid:1 1:1",
        "1 qid:1{} 1:1",
        "1 qid:1 {}1:1",
        "1 qid:1 1:1{}",
    ],
)
def test_white_space_beyond_ascii_is_shown_in_the_error(tmp_path, space, line):
    path = write(tmp_path / "file.txt", f"1 qid:1 1:1\n{line.format(space)}\n")
    seen = re.escape(repr(space)[1:-1])
    with pytest.raises(ValueError, match=rf"file.txt', line 2: .*{seen}"):
        load_letor(path)


@every_reader
def test_nul_bytes_are_refused_wherever_they_are(tmp_path, read):
    # NumPy leaves them out at the end of text
    text = LINES[read].encode()
    content = (
        text + b"#" * 300 + b"\n" + text.replace(b" a ", b" a\0 ").rstrip() + b"\0\n"
    )
    path = write(tmp_path / "file.txt", content)
    with pytest.raises(ValueError, match=r"file.txt', line [45]: a NUL byte"):
        read(path)


def test_a_query_of_thousands_of_zeros_is_text(tmp_path):
    query = "0" * 5000 + "7"
    path = write(tmp_path / "file.txt", f"1 qid:{query} 1:1\n")
    assert load_letor(path).groups.tolist() == [query]


def test_an_infinity_of_single_precision_is_refused(tmp_path):
    path = write(tmp_path / "file.txt", "1 qid:1 1:1e39\n")
    assert load_letor(path).data[0, 0] == 1e39
    with pytest.raises(
        ValueError, match=r"line 1: feature 1 is infinite in float32: g"
    ):
        load_letor(path, dtype=np.float32)


OTHERS = {
    "text in UTF-16: save it as UTF-8": "301 0 a 1\n".encode("utf-16"),
    "text in UTF-32": "\ufeff301 0 a 1\n".encode("utf-32-le"),
    "binary data, or text in UTF-16: save": "301 0 a 1\n".encode("utf-16-le"),
    "JSON": b'{"q1": {"d1": 1}}',
    "a Parquet file": b"PAR1" + bytes(20),
    "an Arrow file": b"ARROW1" + bytes(20),
    "a zip archive": b"PK\x03\x04" + bytes(20),
    "compressed by xz": b"\xfd7zXZ\x00" + bytes(20),
    "binary data": b"\x80\x04\x95" + bytes(20),
}


@every_reader
@pytest.mark.parametrize("found", OTHERS)
def test_a_file_of_another_kind_is_named(tmp_path, read, found):
    path = write(tmp_path / "file.txt", OTHERS[found])
    with pytest.raises(ValueError, match=rf"file.txt', line \d+: .*{found}"):
        read(path)


@every_reader
def test_a_cut_archive_of_good_lines_is_refused(tmp_path, read):
    text = "".join(LINES[read].replace("a", f"a{i}") for i in range(3000)).encode()
    if read is not load_letor:
        text = b"".join(
            line.replace(b" b ", b" b%d " % i) + b"\n"
            for i, line in enumerate(text.splitlines())
        )
    for compress in (gzip.compress, bz2.compress):
        whole = compress(text)
        path = write(tmp_path / "file.txt", whole[: len(whole) // 2])
        with pytest.raises(ValueError, match="the compressed file is cut off or damag"):
            read(path)


def test_a_topic_that_would_be_a_comment_is_not_written(tmp_path):
    with pytest.raises(
        ValueError, match="groups has '#1' at row 0, but a line that begins"
    ):
        dump_qrels(tmp_path / "q.txt", [1], groups=["#1"], documents=["a"])
