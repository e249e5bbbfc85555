"""Sites of several versions: the list of them, the same page of another, a word on old ones."""

import json
from pathlib import Path

import pytest

from carrysave.docs.versions import join, newest_first
from verif.support.browser import Browser

SCRIPT = Path(__file__).parents[2] / "docs" / "_static" / "versions.js"
PAGES = {
    "0.9.0": ["index.html", "guides/a.html", "guides/gone.html"],
    "0.10.0": ["index.html", "guides/a.html"],
    "main": ["index.html", "guides/a.html", "guides/new.html"],
}


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """Return a folder with sites, as Sphinx writes their pages."""
    for name, pages in PAGES.items():
        for page in pages:
            file = tmp_path / name / page
            file.parent.mkdir(parents=True, exist_ok=True)
            root = "../" * page.count("/") or "./"
            file.write_text(
                f'<!doctype html><html lang="en" data-content_root="{root}"><title>{page}</title>'
                f'<script defer src="{root}versions.js"></script>'
                f'<body><a class="sidebar-brand">carrysave</a><article><h1>{name} {page}</h1>'
                "</article></body></html>"
            )
        (tmp_path / name / "versions.js").write_text(SCRIPT.read_text())
    (tmp_path / "no_site").mkdir()
    return tmp_path


def test_which_is_the_newest() -> None:
    names = ["main", "0.9.0", "1.0.0rc1", "0.10.0", "a b"]
    assert newest_first(names) == ["0.10.0", "0.9.0", "1.0.0rc1", "main", "a b"]


def test_all_sites_are_listed(sites: Path, tmp_path: Path) -> None:
    assert join(sites) == ["0.10.0", "0.9.0", "main"]
    text = (sites / "versions.js").read_text()
    listed = json.loads(text.removeprefix("var CARRYSAVE_VERSIONS = ").removesuffix(";\n"))
    assert listed == [[name, sorted(PAGES[name])] for name in ("0.10.0", "0.9.0", "main")]
    assert 'url=0.10.0/index.html"' in (sites / "index.html").read_text()
    (sites / "0.11.0").mkdir()
    (sites / "0.11.0" / "index.html").write_text("")
    assert join(sites)[0] == "0.11.0"  # and the first page of the folder is no version
    with pytest.raises(FileNotFoundError, match=r"no VERSION/index\.html in"):
        join(tmp_path / "no_site")


def test_a_reader_chooses(browser: Browser, sites: Path) -> None:
    join(sites)
    browser.errors()

    def at(path: str) -> None:
        browser.driver.get((sites / path).as_uri())
        browser.wait("document.querySelector('.versions select')")

    def choices() -> dict[str, str]:
        every = browser.ask(
            "[...document.querySelectorAll('.versions option')].map((o) => [o.text, o.value])"
        )
        root = sites.as_uri() + "/"
        return {name: address.removeprefix(root) for name, address in every}

    at("0.9.0/guides/a.html")
    assert choices() == {name: f"{name}/guides/a.html" for name in ("0.10.0", "0.9.0", "main")}
    assert browser.ask("document.querySelector('.versions select').selectedOptions[0].text") == (
        "0.9.0"
    )
    said = "This page is of version 0.9.0. The newest is 0.10.0."
    assert browser.ask("document.querySelector('.another-version').textContent") == said
    at("0.9.0/guides/gone.html")
    assert choices()["0.10.0"] == "0.10.0/index.html"
    assert browser.ask("document.querySelector('.another-version a').href").endswith(
        "/0.10.0/index.html"
    )
    browser.ask(
        "(() => { const s = document.querySelector('.versions select'); s.value ="
        " [...s.options].find((o) => o.text === '0.10.0').value;"
        " s.dispatchEvent(new Event('change')); })()"
    )
    browser.wait("document.querySelector('h1').textContent === '0.10.0 index.html'")
    browser.wait("document.querySelector('.versions select')")
    assert browser.ask("document.querySelector('.another-version')") is None
    browser.driver.get((sites / "index.html").as_uri())
    browser.wait("document.querySelector('h1')?.textContent === '0.10.0 index.html'")
    assert browser.errors() == []
