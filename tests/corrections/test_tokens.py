"""The token table of docs/corrections.md, line by line, for both rules."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coverjax.corrections.tokens import ascii_tokens, found, only_token, tokens_of, unicode_tokens
from coverjax.foundation.checks import InputError

# expected token, text, hit by the rule "unicode", hit by the rule "ascii"
TABLE = [
    ("judgment", "Judgment, then.", True, True),
    ("being", "well-being", False, False),
    ("well-being", "Well-being matters", True, True),
    ("well-being", "well\u2011being", True, False),
    ("being", "well \u2014 being", True, True),
    ("being", "well\u2014being", True, True),
    ("being", "a being's way", False, False),
    ("being's", "a being\u2019s way", True, False),
    ("don't", "I don't", True, True),
    ("don't", "I don\u2019t", True, False),
    ("don\u2019t", "I don't", True, False),
    ("dogs", "the dogs' bowl", True, False),
    ("stone", "'stone'", True, False),
    ("stone", "\u2018stone\u2019", True, True),
    ("h2o", "H2O.", True, False),
    ("h2o", "H\u2082O", True, False),
    ("7", "page 7.", True, False),
    ("3.5", "at 3.5, say", True, False),
    ("3", "at 3.5", False, False),
    ("1,000", "1,000 of them", True, False),
    ("café", "Café!", True, False),
    ("café", "CAFE\u0301", True, False),
    ("cafe", "café", False, False),
    ("caf", "café", False, True),
    ("straße", "STRASSE", True, False),
    ("οδός", "ΟΔΌΣ", True, False),
    ("e.g.", "e.g. this", False, False),
    ("e", "e.g. this", True, True),
    ("snake_case", "snake_case", True, False),
    ("snake", "snake_case", False, True),
    ("co-operate", "co\u00adoperate", False, False),
    ("cooperate", "co\u00adoperate", True, False),
    ("हिन्दी", "यह हिन्दी है", True, False),
    ("水", "水を飲む", False, False),
]


@pytest.mark.parametrize(("word", "text", "in_unicode", "in_ascii"), TABLE)
def test_token_table(word, text, in_unicode, in_ascii):
    assert (found([word], [text], "unicode") == [word]) is in_unicode
    assert (found([word], [text], "ascii") == [word]) is in_ascii


def test_the_documented_table_is_this_one(request):
    path = request.config.rootpath / "docs" / "corrections.md"
    rows = re.findall(r"^\| `(.+?)` \| `(.+?)` \| (yes|no) \| (yes|no) \|$", path.read_text(), re.M)
    ours = {
        (word, text): ("yes" if one else "no", "yes" if other else "no") for word, text, one, other in TABLE
    }
    assert len(rows) >= 12
    for word, text, one, other in rows:
        assert ours[word, text] == (one, other), (word, text)


def test_expected_tokens_are_found_in_their_own_order_and_in_any_text():
    assert found(["b", "Zeta", "a"], ["zeta", "A b c"]) == ["b", "Zeta", "a"]
    assert found(["x"], []) == []


@pytest.mark.parametrize(("word", "rule", "token"), [("Two words", "unicode", None), ("h2o", "ascii", None)])
def test_words_that_are_no_single_token_have_none(word, rule, token):
    assert only_token(word, rule) is token
    assert found([word], [word], rule) == []


def test_an_unknown_rule_is_refused():
    with pytest.raises(InputError, match="rule: must be one of unicode, ascii; got 'latin'"):
        tokens_of("a", "latin")


@given(st.text(max_size=40))
def test_every_token_is_one_token_and_folding_changes_nothing(text):
    for token in unicode_tokens(text):
        assert only_token(token) == token
    for other in (unicodedata.normalize("NFD", text), unicodedata.normalize("NFC", text)):
        assert unicode_tokens(other) == unicode_tokens(text)
    assert all(re.fullmatch("[a-z][a-z'-]*", token) for token in ascii_tokens(text))
