"""Open a page in headless Chromium at 1280 and 400 pixels, light and dark: python tools/look.py report.html
shots

Needs `pip install playwright` and a Chromium (found on the path, or CHROMIUM=/path). Exit 1 where the console
says anything, something is wider than the window, an id stands twice, or anything is asked from the network.
The pictures are there to be looked at.
"""

import os
import pathlib
import shutil
import sys

from playwright.sync_api import sync_playwright

WIDE = """[...document.querySelectorAll('body *')]
  .filter(e => !e.closest('.scroll') && !e.classList.contains('skip'))
  .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName).slice(0, 5)"""
TWICE = """(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
  return ids.filter((id, at) => ids.indexOf(id) < at).slice(0, 5) })()"""
OVER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def look(page: pathlib.Path, out: pathlib.Path) -> int:
    """Take the pictures; return how many of them had something wrong."""
    out.mkdir(parents=True, exist_ok=True)
    wrong = 0
    with sync_playwright() as playwright:
        place = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            for width in (1280, 400):
                size = {"width": width, "height": 900}
                tab = browser.new_context(viewport=size, color_scheme=scheme, offline=True).new_page()
                said: list[str] = []
                tab.on("console", lambda message, said=said: said.append(message.text))
                tab.on("pageerror", lambda error, said=said: said.append(str(error)))
                tab.on("requestfailed", lambda request, said=said: said.append(request.url))
                tab.on("dialog", lambda dialog, said=said: said.append(dialog.message))
                tab.goto(page.resolve().as_uri())
                found = {"console": said, "over": tab.evaluate(OVER), "wide": tab.evaluate(WIDE)}
                found["twice"] = tab.evaluate(TWICE)
                tab.screenshot(path=str(out / f"{scheme}-{width}.png"), full_page=True)
                bad = {name: value for name, value in found.items() if value}
                wrong += bool(bad)
                print(f"{scheme} {width}: {bad or 'nothing wrong'}")
        browser.close()
    return wrong


if __name__ == "__main__":
    sys.exit(1 if look(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])) else 0)
