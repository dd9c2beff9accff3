"""Look at a built site: broken links, raw tables and directives that show, outside requests."""
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

WORDS = "export|exports|exporti|hide|default_exp|eval|slow|gpu|echo|code-fold"
DIRECTIVE = re.compile(rf"#\|\s*(?:{WORDS})\b")
RAW_TABLE = re.compile(r"\|\s*:?-{3,}:?\s*\|")


class Page(HTMLParser):
    "Links, anchors, requests and text of one page."
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.fetched, self.words, self.inside = [], set(), [], [], None
        self.prose, self.verbatim = [], 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in ("script", "style", "code"): self.inside = tag
        if tag == "pre": self.verbatim += 1
        self.anchors |= {attrs[key] for key in ("id", "name") if attrs.get(key)}
        if tag == "a" and attrs.get("href"): self.links.append(attrs["href"])
        target = None
        if tag in ("script", "img", "iframe"): target = attrs.get("src")
        if tag == "link" and "canonical" not in attrs.get("rel", ""): target = attrs.get("href")
        if target: self.fetched.append(target)

    def handle_endtag(self, tag):
        if tag == self.inside: self.inside = None
        if tag == "pre": self.verbatim -= 1

    def handle_data(self, data):
        if self.inside in ("script", "style", "code"): return
        self.words.append(data)
        if not self.verbatim: self.prose.append(data)


def check(folder):
    "Problems of the site in `folder`, one line each."
    folder = Path(folder).resolve()
    paths = [path for path in folder.glob("**/*.html") if "_static" not in path.parts]
    parsed = {path: Page(path.read_text(encoding="utf-8")) for path in paths}
    problems = [] if (folder / "index.html").is_file() else ["there is no index.html"]
    for path, page in parsed.items():
        here = path.relative_to(folder)
        for link in page.links + page.fetched:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                if link in page.fetched: problems.append(f"{here}: fetches {link}")
                continue
            if parts.scheme in ("data", "mailto", "javascript"): continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir(): target = target / "index.html"
            if not target.is_file(): problems.append(f"{here}: broken link {link}")
            elif parts.fragment and target in parsed and not parts.fragment.startswith("/"):
                known = unquote(parts.fragment) in parsed[target].anchors
                if not known: problems.append(f"{here}: no such place {link}")
        found = DIRECTIVE.search("".join(page.words))
        if found: problems.append(f"{here}: the directive {found[0]} shows")
        raw = RAW_TABLE.search("".join(page.prose))
        if raw: problems.append(f"{here}: a table shows as text")
    return sorted(set(problems))


if __name__ == "__main__":
    found = check(sys.argv[1])
    print(*found, sep="\n")
    sys.exit(bool(found))
