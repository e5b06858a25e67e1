"""Labels of strangers on one line."""

import pytest

from coverjax.report.text import counted, fit, one_line, unlike, width, wrapped


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain", "plain"),
        ("a\n b\t\tc", "a b c"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x00", "\\x00"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\ud800", "\\ud800"),
        ("zero\u200dwidth", "zerowidth"),
        ("<script>", "<script>"),
        (7, "7"),
        ("", ""),
    ],
)
def test_one_line(raw, shown):
    assert one_line(raw) == shown


@pytest.mark.parametrize("middle", [False, True])
@pytest.mark.parametrize("text", ["x" * 10_000, "ab" * 21, " " * 5_000 + "end", "a " * 3_000, "\x1b" * 100])
def test_one_line_is_short(text, middle):
    assert len(one_line(text, 40, middle)) <= 40
    assert "\x1b" not in one_line(text, 40, middle)


def test_a_cut_in_the_middle_keeps_both_ends():
    short = one_line("fresh32k-aime24-input-number-1234", 20, middle=True)
    assert short.startswith("fresh32k")
    assert short.endswith("1234")
    assert len(short) == 20


def test_width_counts_terminal_columns():
    assert width("abc") == 3
    assert width("日本") == 4
    assert width("e\u0301") == 1


@pytest.mark.parametrize("text", ["", "abc", "a longer text", "日本語の文字列", "日本語x"])
def test_fit_gives_exactly_the_columns(text):
    assert width(fit(text, 8)) == 8


def test_wrapped_keeps_every_word_within_the_columns():
    text = "one two three four five six seven eight nine ten"
    lines = wrapped(text, 14, "    ", "* ")
    assert all(width(line) <= 14 for line in lines)
    assert lines[0].startswith("* one")
    assert all(line.startswith("    ") for line in lines[1:])
    assert " ".join(" ".join(lines).replace("* ", "").split()) == text


def test_wrapped_cuts_a_word_that_is_too_long():
    assert all(width(line) == 10 for line in wrapped("x" * 50, 10))


def test_names_that_read_the_same_are_numbered():
    names = ["long name " * 9 + "a" + " tail" * 9, "long name " * 9 + "b" + " tail" * 9, "other", ""]
    short = unlike(names, 20)
    assert len(set(short)) == 4
    assert all(len(name) <= 20 for name in short)
    assert short[0].endswith("(1)")
    assert short[3] == "(no name)"


def test_counted():
    assert [counted(1, "input"), counted(1060, "input"), counted(2, "box", "boxes")] == [
        "1 input",
        "1,060 inputs",
        "2 boxes",
    ]
