"""Check the built site without a network: links, anchors, and what its pages load.

    python tools/check_site.py docs/_build

Every link to a page of the site must have a file, every anchor an element, and nothing that a page
needs to be shown (scripts, styles, pictures) may come from elsewhere. Links to other sites are only
counted.
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ELSEWHERE = re.compile(r"^(https?:)?//", re.IGNORECASE)
# Attributes that make a browser load something; those of <link> only with these relations.
LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "object": "data"}
LOADED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload"}


class Page(HTMLParser):
    """Anchors of a page, its links, and the addresses it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loaded, self.without_text = set(), [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loaded.append(found[LOADED[tag]])
        if tag == "link" and LOADED_RELATIONS & set(found.get("rel", "").split()):
            self.loaded.append(found.get("href", ""))
        if tag == "img" and "alt" not in found:
            self.without_text.append(found.get("src", ""))


def problems(folder):
    """Messages, one for each broken link or foreign file, and how much was looked at."""
    paths = [path for path in sorted(folder.rglob("*.html")) if "_static" not in path.parts]
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    found, n_inside, n_outside = [], 0, 0
    for path, page in pages.items():
        name = path.relative_to(folder)
        found += [f"{name} loads {url}" for url in page.loaded if ELSEWHERE.match(url)]
        found += [f"{name} shows {url} without a text" for url in page.without_text]
        for url in page.links + page.loaded:
            if re.match(r"^[a-z][a-z0-9+.-]*:", url, re.IGNORECASE) or ELSEWHERE.match(url):
                n_outside += 1
                continue
            n_inside += 1
            parts = urlsplit(url)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment).partition(":~:")[0]  # what follows is a text to find
            if not target.is_file():
                found.append(f"{name} links to {url}, which is no file")
            elif target in pages and anchor not in pages[target].anchors | {""}:
                found.append(f"{name} links to {url}, which is no anchor there")
    return found, f"{len(pages)} pages, {n_inside} links inside, {n_outside} to other sites"


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("usage: python tools/check_site.py FOLDER, where sphinx-build wrote the site")
    found, looked_at = problems(Path(sys.argv[1]).resolve())
    for message in found:
        print(message)
    print(f"{looked_at}; {len(found)} problems")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
