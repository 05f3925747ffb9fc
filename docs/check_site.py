"""Check the built pages: links, search, errors of scripts, wide pages, text cut off.

    python docs/check_site.py docs/_build [--browser chromium]

Without a browser, links, the search index, and the words of tables that no line may
break are checked.  Prints what is wrong; the exit status is 1 if anything is.
"""

from __future__ import annotations

import argparse
import functools
import http.server
import json
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.search.en import SearchEnglish

WIDTHS = (375, 1440)
# letters in the longest unbreakable words of the columns of a table, which has room for
# these beside both sidebars of a screen of 1440
MOST_LETTERS = 100
# what the theme, and scikit-learn's diagrams, write to the console
THEME_SAYS = re.compile(r'"\[PST\]: |"Got invalid theme mode|"Expected copy-paste icon')
# Loads each page in a frame of each width, one after another, and leaves a list of
# [page, width, width of its content, pictures without a size, what is cut] in the
# document.  On a wide screen, what has to be scrolled is cut.  On every screen, text is
# cut that nothing smaller than the article scrolls, and that either ends outside of the
# screen or is hidden by what it is in.
MEASURE = """<!doctype html><pre id="result"></pre><script>
const measure = (page, width) => new Promise((resolve) => {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900;
  frame.onload = () => setTimeout(() => {
    const inside = frame.contentDocument;
    inside.querySelectorAll("img").forEach((image) => { image.loading = "eager"; });
    inside.querySelectorAll("details").forEach((part) => { part.open = true; });
    const images = [...inside.images];
    const formulas = frame.contentWindow.MathJax?.startup?.promise;
    const drawn = images.map((image) => image.decode());
    Promise.allSettled([...drawn, formulas]).then(() => {
      const broken = images.filter((i) => !i.naturalWidth).map((i) => i.src);
      const style = (e) => frame.contentWindow.getComputedStyle(e);
      const article = inside.querySelector(".bd-article");
      const isScrolled = (e) => e !== null && e !== article
        && (/auto|scroll/.test(style(e).overflowX) || isScrolled(e.parentElement));
      const isCut = (e) => {
        const box = e.getBoundingClientRect();
        if (box.width <= 1 || isScrolled(e)) return false;  // or is for screen readers
        const hides = /hidden|clip/.test(style(e).overflowX);
        return (hides && e.scrollWidth > e.clientWidth + 4)
          || box.left < -4 || box.right > width + 4;
      };
      const scrolled = [...inside.querySelectorAll(
        "pre, div.math mjx-container, td code")]
        .filter((e) => width > 1000 && e.scrollWidth > e.clientWidth + 4);
      const texts = [...(article?.querySelectorAll("*") ?? [])].filter((e) =>
        e.textContent.trim() && isCut(e) && ![...e.children].some(isCut));
      const cut = [...scrolled, ...texts].map((e) => e.textContent.slice(0, 60));
      resolve([page, width, inside.documentElement.scrollWidth, broken, cut]);
      frame.remove();
    });
  }, 200);
  frame.src = page;
  document.body.append(frame);
});
(async () => {
  const measured = [];
  for (const page of PAGES)
    for (const width of WIDTHS) measured.push(await measure(page, width));
  document.getElementById("result").textContent = JSON.stringify(measured);
  fetch("/measured", {method: "POST", body: JSON.stringify(measured)});
})();
</script>"""


# Questions of a new user, in words for the search, and the page with the answer.
QUESTIONS = {
    "load frame query column": "guide/data",
    "query no relevant document": "faq",
    "GridSearchCV groups": "guide/tuning",
    "NDCG trec_eval": "metrics",
    "Elasticsearch": "guide/deploying",
    "monotone price": "guide/categories",
    "why A above B": "guide/explaining",
    "resume a fit": "guide/early_stopping",
    "load saved model": "guide/saving",
    "two machines": "guide/cluster",
}


class Page(HTMLParser):
    """What a page links to, and the anchors that it has."""

    def __init__(self, path: Path):
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.links |= {named[key] for key in ("href", "src") if named.get(key)}
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}


def pages_of(site: Path) -> list[Path]:
    return sorted(p for p in site.rglob("*.html") if "_static" not in p.parts)


def broken_links(site: Path) -> list[str]:
    """Return the links within the site whose file or anchor is not there."""
    pages = {path: Page(path) for path in pages_of(site)}
    wrong = []
    for path, page in pages.items():
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme == "mailto":  # such as ndcg@10
                wrong.append(f"{path.relative_to(site)}: {link} is no address")
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            target = path if not parts.path else target
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            anchors = pages[target].anchors if target in pages else set()
            if not target.exists() or (anchor and anchor not in anchors):
                wrong.append(f"{path.relative_to(site)}: broken link {link}")
    return wrong


class Tables(HTMLParser):
    """The longest word of each column of each table of a page; <wbr> ends a word."""

    def __init__(self, path: Path):
        super().__init__()
        self.tables: list[list[int]] = []
        self._column = -1
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self._column = -1
        elif tag in ("td", "th"):
            self._column += 1

    def handle_data(self, data):
        if self._column >= 0 and self.tables:
            longest = self.tables[-1]
            longest += [0] * (self._column + 1 - len(longest))
            length = max(map(len, data.split()), default=0)
            longest[self._column] = max(longest[self._column], length)

    def handle_endtag(self, tag):
        if tag == "table":
            self._column = -1


def too_wide(site: Path) -> list[str]:
    """Return the tables whose unbreakable words do not fit beside each other."""
    return [
        f"{path.relative_to(site)}: table {number} has unbreakable words of "
        f"{sum(longest)} letters in a row, {longest}"
        for path in pages_of(site)
        for number, longest in enumerate(Tables(path).tables, 1)
        if sum(longest) > MOST_LETTERS
    ]


def unanswered(site: Path) -> list[str]:
    """Return the questions whose page is not found by a search, or in two clicks."""
    index = json.loads(
        (site / "searchindex.js").read_text("utf-8").partition("(")[2].rstrip(")\n;")
    )
    near = {"index"}
    for _ in range(2):
        links = {
            (site / page).parent / urlsplit(link).path
            for page in near
            for link in Page(site / f"{page}.html").links
            if not urlsplit(link).scheme
        }
        found = {path.resolve() for path in links if path.suffix == ".html"}
        near |= {p.relative_to(site).with_suffix("").as_posix() for p in found}
    english, wrong = SearchEnglish({}), []
    for question, page in QUESTIONS.items():
        number = index["docnames"].index(page)
        for word in map(str.lower, re.findall(r"\w+", question)):
            if not english.word_filter(word):
                continue  # a, no, why
            stem = english.stem(word)
            at = [index[kind].get(stem, []) for kind in ("terms", "titleterms")]
            pages = {n for one in at for n in (one if isinstance(one, list) else [one])}
            if number not in pages:
                wrong.append(f"{question}: a search for {word} does not find {page}")
        if page not in near:
            wrong.append(f"{question}: {page} is more than two clicks away")
    return wrong


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves the site and the measuring page, and receives what was measured."""

    measuring_page = b""
    measured: list | None = None
    done = threading.Event()

    def do_GET(self):
        if self.path == "/measure":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.measuring_page)
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).measured = json.loads(body)
        self.send_response(204)
        self.end_headers()
        self.done.set()

    def log_message(self, *arguments):
        pass


def seen_by_a_browser(site: Path, browser: str) -> list[str]:
    """Return errors of scripts, missing pictures, wide pages and text that is cut."""
    pages = [f"/{path.relative_to(site).as_posix()}" for path in pages_of(site)]
    script = MEASURE.replace("PAGES", json.dumps(pages))
    Handler.measuring_page = script.replace("WIDTHS", json.dumps(WIDTHS)).encode()
    handler = functools.partial(Handler, directory=site)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/measure"
        options = ["--headless=new", "--no-sandbox", "--disable-gpu"]
        options += ["--enable-logging=stderr", "--v=0", "--window-size=1600,1000"]
        options += ["--remote-debugging-port=0"]  # else it ends before the measuring
        with subprocess.Popen(
            [browser, *options, address], stderr=subprocess.PIPE, text=True
        ) as process:
            log: list[str] = []
            reader = threading.Thread(target=lambda: log.extend(process.stderr))
            reader.start()
            finished = Handler.done.wait(timeout=10 + 3 * len(pages))
            process.terminate()
            reader.join()
        server.shutdown()
    if not finished:
        return [f"{browser} has not measured the pages", *log[-5:]]
    messages = [line.strip() for line in log if re.search(r":CONSOLE[:(]", line)]
    wrong = [line for line in messages if not THEME_SAYS.search(line)]
    for page, width, content, broken, cut in Handler.measured:
        wrong += [f"{page}: no picture {source}" for source in broken]
        wrong += [f"{page}: cut on a screen of {width}: {text!r}" for text in cut]
        if content > width:
            wrong.append(f"{page}: {content} pixels wide on a screen of {width}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("site", type=Path)
    parser.add_argument("--browser", help="Chromium or Chrome")
    arguments = parser.parse_args()
    site = arguments.site.resolve()
    wrong = broken_links(site) + too_wide(site) + unanswered(site)
    if arguments.browser:
        wrong += seen_by_a_browser(site, arguments.browser)
    print("\n".join(wrong) or "nothing wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
