"""Documents from the source of a Python module, which is parsed, never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sklearn_ltr.datasets._python_docs._document import Document, split_docstring

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def documents_in_source(
    body: list[ast.stmt], module: str, owner: str
) -> Iterator[Document]:
    """Yield what a module or class defines, also under ``if`` and ``try``."""
    for node in body:
        if isinstance(node, Definition):
            name = f"{owner or module}.{node.name}"
            docstring = ast.get_docstring(node)
            if docstring:
                yield _from_node(node, docstring, name, module, owner)
            if isinstance(node, ast.ClassDef):
                yield from documents_in_source(node.body, module, owner=name)
        elif isinstance(node, ast.If | ast.Try):
            yield from documents_in_source([*node.body, *node.orelse], module, owner)


def _from_node(
    node: Definition, docstring: str, name: str, module: str, owner: str
) -> Document:
    summary, rest = split_docstring(docstring)
    if isinstance(node, ast.ClassDef):
        kind, mentions = "class", _members(node)
        arguments: tuple[str, ...] = ()
    else:
        kind, mentions = "method" if owner else "function", _identifiers(node)
        arguments = _arguments(node.args)
    return Document(
        name, module, owner, kind, False, arguments, mentions, summary, rest
    )


def _arguments(given: ast.arguments) -> tuple[str, ...]:
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return tuple(arg.arg for arg in named if arg.arg not in ("self", "cls"))


def _members(node: ast.ClassDef) -> tuple[str, ...]:
    return tuple(child.name for child in node.body if isinstance(child, Definition))


def _identifiers(node: ast.AST) -> tuple[str, ...]:
    names = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name):
            names.append(child.id)
        elif isinstance(child, ast.Attribute):
            names.append(child.attr)
    return tuple(names)
