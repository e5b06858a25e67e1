"""Pages that hold measured tables between marks, so that words around them stay."""


def between(page: str, begin: str, end: str, block: str) -> str:
    """Return a page with what stands between two lines replaced; without the lines the program ends."""
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(
            f"the page must hold the lines {begin!r} and {end!r}: what is measured stands between"
        )
    return f"{before}{begin}\n{block}\n{end}{after}"


def replaced(page: str, name: str, block: str) -> str:
    """Return a page with its block of this name replaced."""
    return between(page, f"<!-- {name}: begin -->", f"<!-- {name}: end -->", block)
