"""Write the addresses of the project into files that are read away from its repository.

    python .ci/addresses.py FOLDER https://host/owner/name [https://address.of/the/site/]

A checkout names no address, as a fork has another one: README's links are relative, and
neither pyproject.toml nor CITATION.cff has any. The workflow that publishes a version
knows where it runs. The links are those of the version's tag.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

RELATIVE = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)\s]+)\)")


def absolute(readme: str, folder: Path, repository: str, tag: str) -> str:
    """Return a page of Markdown whose links and pictures hold everywhere."""

    def address(found: re.Match[str]) -> str:
        picture, text, target = found.groups()
        path = target.partition("#")[0]
        if not (folder / path).exists():
            raise ValueError(f"README.md links to {path}, which does not exist")
        kind = "raw" if picture else "tree" if (folder / path).is_dir() else "blob"
        return f"{picture}{text}({repository}/{kind}/{tag}/{target})"

    return RELATIVE.sub(address, readme)


def write_addresses(folder: Path, repository: str, documentation: str = "") -> None:
    """Change README.md, pyproject.toml and CITATION.cff of a folder."""
    readme, project, citation = (
        folder / name for name in ("README.md", "pyproject.toml", "CITATION.cff")
    )
    text = project.read_text("utf-8")
    tag = f"v{tomllib.loads(text)['project']['version']}"
    urls = {
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{repository}/blob/{tag}/docs/changelog.md",
    }
    if documentation:  # estimators in notebooks link to their pages there
        urls["Documentation"] = documentation
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    project.write_text(f"{text}\n[project.urls]\n{lines}", "utf-8")
    page = absolute(readme.read_text("utf-8"), folder, repository, tag)
    readme.write_text(page, "utf-8")
    cited = f'{citation.read_text("utf-8")}repository-code: "{repository}"\n'
    citation.write_text(cited, "utf-8")


if __name__ == "__main__":
    write_addresses(Path(sys.argv[1]), *sys.argv[2:])
