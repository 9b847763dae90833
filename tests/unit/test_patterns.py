"""Patterns of a schema mean what ECMA-262 says, take linear time, and are refused where another dialect would read them otherwise."""

from __future__ import annotations

import pytest

from otel_agent.instrument.patterns import matcher

MEANS = [
    ("(a+)+$", "a" * 4000 + "b", False),
    ("^(a|a)*$", "a" * 4000 + "b", False),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 4000, False),
    ("", "", True),
    ("b", "abc", True),
    ("^b", "abc", False),
    ("a$", "a\n", False),
    ("^a", "\na", False),
    (r"\d", "٣", False),
    (r"^\d+$", "123", True),
    (r"\D", "٣", True),
    (r"\w", "é", False),
    (r"\W", "é", True),
    (r"\s", "\ufeff", True),
    (r"\s", "\u2003", True),
    (r"\s", "\x85", False),
    (r"^[^\s]+$", "a b", False),
    (r"^[\s\S]$", "\n", True),
    (r"^[\D]$", "٣", True),
    ("^.$", "\r", False),
    ("^.$", "\u2028", False),
    ("^.$", "\x85", True),
    ("^.$", "😀", True),
    ("^..$", "😀", False),
    (r"^\u00e9$", "é", True),
    (r"^\u{1F600}$", "😀", True),
    (r"^\x41\t\0$", "A\t\0", True),
    (r"^\p{Lu}$", "É", True),
    (r"^[\P{Lu}]$", "É", False),
    ("[[a]", "[", True),
    ("^[a&&b]$", "&", True),
    ("^[a~~b]$", "~", True),
    (r"^[a\]b]$", "]", True),
    (r"^[\b]$", "\b", True),
    ("^[^^]$", "^", False),
    (r"^[\w-]+$", "a-b", True),
    (r"^[\w.-]+@[\w-]+\.\w{2,}$", "a.b@c.de", True),
    (r"a\b", "aé", True),
    (r"a\B", "aé", False),
    ("(?i)^ab$", "AB", True),
    ("^(?i:a)b$", "AB", False),
    (r"^\/a\-b$", "/a-b", True),
    (r"^\<a\>$", "<a>", True),
    ("^(?:a|b){2,3}$", "abab", False),
    ("^(?<year>[0-9]{4})$", "2024", True),
    ("^#[0-9a-fA-F]{6}$", "#00ff00", True),
    ("^[ -~]*$", "a b", True),
    ("^[a-z]*?$", "abc", True),
    ("^x y #z$", "x y #z", True),
    ("^]}$", "]}", True),
]

REFUSED = [
    "(?=a)", "(?!a)", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", r"\bé{100000}",  # not linear, or no such thing
    r"a\Z", r"\Aa", r"a\z", "(?s).", "(?x)a b", "(?P=n)", "a++", "a{,3}", "a(?i)b",  # Python's or Rust's
    "[]a]", "[^]]", "[a--b]", r"\ud83d\ude00", r"\cA", r"\a", r"\p{Nonsense}", r"\x{41}", r"\pL",  # read in different ways
    "*a", "a**", "(a){2}{3}", "^*", "a|*", "(", ")", "(a", "[a", "[z-a]", "\\", "[\\", "a{3,2}", "\ud800", "[\ud800]",  # no patterns
    "((a{1,100}){1,100}){1,10}", r"\p{L}{1000}", "[^a]{2000}", "(?i)a{3000}", "(" * 5000, "a" * 20_000,  # too large
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text", "expected"), MEANS)
def test_what_a_pattern_means(pattern: str, text: str, expected: bool) -> None:
    """The first three would keep Python's engine busy for longer than anyone waits."""
    made = matcher(pattern)
    assert made is not None
    assert made.found(text) is expected


@pytest.mark.parametrize("pattern", REFUSED)
def test_what_is_refused(pattern: str) -> None:
    assert matcher(pattern) is None


@pytest.mark.parametrize(
    ("pattern", "size"),
    [("abc", 4), ("a{10}", 11), ("(ab{3}){2,5}", 31), ("(?i)ab", 9), ("(?:)", 2), ("a{0}", 2), (".*", 9), ("[a-z]+", 3)],
)
def test_the_size_of_a_pattern(pattern: str, size: int) -> None:
    """Counted repetitions are written out: ``a`` ten times and the start; five times five, once more, and what each group adds."""
    made = matcher(pattern)
    assert made is not None
    assert made.size == size
